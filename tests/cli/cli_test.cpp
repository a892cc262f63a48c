// The program as a user meets it: what it prints, its exit codes, and one clear line for every
// mistake.
#include <fstream>
#include <gmock/gmock.h>

#include "tests/cli/program.h"
#include "tests/data/pictures.h"
#include "tests/temp_dir.h"

namespace centavo {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Usage, HelpSaysWhatThereIs) {
  Outcome help = run("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"train", "bench", "summary", "models", "devices"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
    Outcome own = run(std::string(command) + " --help");
    EXPECT_EQ(own.code, 0);
    EXPECT_THAT(own.out, HasSubstr("--help"));
  }
}

TEST(Usage, HelpShowsTypesAndDefaults) {
  Outcome help = run("train --help");
  EXPECT_THAT(help.out, HasSubstr("Usage: centavo train --model NAME --dataset SPEC [OPTIONS]\n"));
  EXPECT_THAT(help.out,
              ContainsRegex("\n  -b, --batch-size N +Samples a step [(]default 128[)]\n"));
  EXPECT_THAT(help.out, ContainsRegex("\n      --nesterov +sgd: Nesterov's momentum\n"));
  EXPECT_THAT(run("models --help").out, HasSubstr("Usage: centavo models [PATTERN] [OPTIONS]\n"));
}

TEST(Usage, MistakesOfferTheNearestName) {
  expect_failure("", 2, "no command given");
  expect_failure("trian", 2, "did you mean 'train'");
  expect_failure("train --modle mlp", 2, "unknown option '--modle'; did you mean '--model'");
  expect_failure("bench --model vit_tiny_patch16_242", 2, "did you mean 'vit_tiny_patch16_224'");
  expect_failure("bench --model mlp --precision bf61", 2, "did you mean 'bf16'");
  expect_failure("bench --model mlp --opt adma", 2, "did you mean 'adam'");
  expect_failure("bench --model mlp --device cpuu", 2, "did you mean 'cpu'");
  expect_failure("bench --model mlp --dataset fkae", 1, "did you mean 'fake'");
  expect_failure("train --model mlp", 2, "--dataset is required");
  expect_failure("bench --model mlp --batch-size 0", 2, "--batch-size");
  expect_failure("bench --model mlp --batch-size many", 2, "--batch-size");
  expect_failure("bench --model mlp --format jsn", 2, "did you mean 'json'");
  expect_failure("train --model mlp --dataset fake --sched cosin", 2, "did you mean 'cosine'");
  expect_failure("bench --model mlp --seed -4", 2, "--seed: expects a number that is not negative");
  expect_failure("bench --model mlp --drop 1", 2, "--drop: expects a number from 0 to below 1");
  expect_failure("models mlp vit", 2, "unexpected argument 'vit'");
  expect_failure("models resnte", 1, "no model matches");
}

TEST(Models, ListsWithParameterCounts) {
  Outcome list = run("models 'vit_base*'");
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, HasSubstr("86,567,656"));
  EXPECT_THAT(list.out, Not(HasSubstr("vit_tiny")));
  auto json = run_json("models vit_tiny_patch16_224");
  EXPECT_EQ(json[0]["params"], 5717416);
}

TEST(Summary, CountsParametersAndMemory) {
  auto json = run_json("summary --model vit_tiny_patch16_224 --batch-size 2");
  EXPECT_EQ(json["params"], 5717416);
  int64_t sum = 0;
  for (const auto& layer : json["layers"]) sum += layer["params"].get<int64_t>();
  EXPECT_EQ(sum, 5717416);
  // Two multiply-adds a weight and token: 1.26 GMACs a sample, as timm's table of models has it.
  EXPECT_NEAR(json["forward_gflops"].get<double>() / 2, 2 * 1.26, 0.1);
  EXPECT_GT(json["planned_bytes"].get<int64_t>(), 3 * 4 * 5717416);
}

TEST(Bench, ARecordIsAMeasuredRowOfCompare) {
  TempDir dir;
  const std::string file = (dir / "rows.jsonl").string();
  const std::string training = "--model vit_tiny_patch16_224 --batch-size 1 --precision fp32 ";
  run_json("bench " + training + "--steps 1 --warmup 1 --record " + file);
  const auto table = run_json("compare " + training + "--instances c7i.2xlarge --measured " + file);
  ASSERT_EQ(table["rows"].size(), 2u);
  int measured = 0;
  for (const auto& row : table["rows"]) measured += row["source"] == "measured";
  EXPECT_EQ(measured, 1);
  expect_failure("bench " + training + "--record rows.csv", 2, "must end in .jsonl");
}

TEST(Fleet, MistakesNameTheRemedy) {
  const std::string model = "--model vit_tiny_patch16_224 ";
  expect_failure("explain --instance foo " + model, 1, "`centavo instances` lists them");
  expect_failure("compare --instances foo " + model, 1, "`centavo instances` lists them");
  expect_failure("compare --prices foo " + model, 1, "a date such as 2023, 2023-08");
  expect_failure("compare --report /no/such/page.html " + model, 1, "check the path");
  expect_failure("compare --report . " + model, 1, "name a file in it");
  expect_failure("plan --samples 1e6 --epochs 1 --deadline soon " + model, 1,
                 "write 48h, 90m, 30s");
  expect_failure("plan --samples 1e6 --epochs 1 --deadline 1s --instances trn1.2xlarge " + model, 1,
                 "no way meets the deadline of 1 s");
}

TEST(Fleet, AReportThatCannotBeWrittenIsSaidBeforeAnyRow) {
  EXPECT_THAT(run("compare --report /no/such/page.html --model vit_tiny_patch16_224").out,
              Not(HasSubstr("SAMPLES/S")));
}

TEST(Bench, JsonHasEveryKey) {
  auto json = run_json("bench " + kSmall +
                       "--dataset fake --img-size 8 --in-chans 1 --num-classes 10 --batch-size 4 "
                       "--steps 5 --warmup 1");
  for (const char* key : {"model",
                          "params",
                          "batch_size",
                          "precision",
                          "device",
                          "threads",
                          "workers",
                          "steps",
                          "step_seconds",
                          "step_seconds_mean",
                          "step_seconds_ci95",
                          "samples_per_second",
                          "tflops",
                          "data_wait_seconds",
                          "host_seconds",
                          "device_seconds",
                          "compile_seconds",
                          "compiles",
                          "cache_hits",
                          "peak_memory_mib",
                          "planned_memory_mib",
                          "losses"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["steps"], 5);
  EXPECT_EQ(json["losses"].size(), 5u);
  EXPECT_EQ(json["compiles"], 1);
  double parts = json["data_wait_seconds"].get<double>() + json["host_seconds"].get<double>() +
                 json["device_seconds"].get<double>();
  EXPECT_NEAR(parts, json["step_seconds_mean"].get<double>(), 0.1 * parts + 1e-5);
}

TEST(Train, WritesSummaryAndWeights) {
  TempDir dir;
  write_idx(dir / "", 40, [](int i) { return i % 3; });
  const std::string command = "train " + kSmall +
                              "--num-classes 3 --dataset idx:" + (dir / "").string() +
                              " --epochs 2 --batch-size 8 --output ";
  Outcome first = run(command + (dir / "a").string());
  ASSERT_EQ(first.code, 0) << first.out;
  EXPECT_THAT(first.out, HasSubstr("Train: 1 [   5/5 (100%)]"));
  EXPECT_THAT(first.out, HasSubstr("*** Best metric:"));
  std::ifstream summary(dir / "a" / "summary.csv");
  std::string header;
  std::getline(summary, header);
  EXPECT_EQ(header, "epoch,train_loss,eval_loss,eval_top1,eval_top5,lr");
  // The same seed gives the same bytes.
  ASSERT_EQ(run(command + (dir / "b").string()).code, 0);
  EXPECT_FALSE(text_of(dir / "a" / "model.safetensors").empty());
  EXPECT_TRUE(text_of(dir / "a" / "model.safetensors") == text_of(dir / "b" / "model.safetensors"));
  EXPECT_EQ(text_of(dir / "a" / "summary.csv"), text_of(dir / "b" / "summary.csv"));
}

// Folders DIR/train/{0,1}/ and DIR/val/{0,1}/ of `count` pictures each.
void write_folders(const std::filesystem::path& dir, int count) {
  Philox rng(1);
  for (const char* split : {"train", "val"}) {
    for (int label : {0, 1}) {
      const auto folder = dir / split / std::to_string(label);
      std::filesystem::create_directories(folder);
      for (int i = 0; i < count; ++i) {
        const auto jpeg = data::encode_jpeg(data::random_image(20, 24, 3, rng));
        std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
            .write(reinterpret_cast<const char*>(jpeg.data()),
                   static_cast<std::streamsize>(jpeg.size()));
      }
    }
  }
}

TEST(Train, FolderOfImagesWithTimmsFlags) {
  TempDir dir;
  write_folders(dir / "data", 9);
  std::filesystem::resize_file(dir / "data/train/0/3.jpg", 50);
  const std::string data = "train " + kSmall + "--dataset folder:" + (dir / "data").string() +
                           " --input-size 3 16 16 --epochs 2 --output " + (dir / "out").string() +
                           " ",
                    command = data + "--batch-size 4 ";
  Outcome done = run(command +
                     "--scale 0.5 1 --ratio 1 1.2 --hflip 0.3 --vflip 0.2 --color-jitter 0.1 "
                     "--reprob 0.5 --train-interpolation bilinear --interpolation bilinear "
                     "--crop-pct 0.9 --mean 0.5 0.5 0.5 --std 0.2 0.2 0.2");
  ASSERT_EQ(done.code, 0) << done.out;
  EXPECT_THAT(done.out, HasSubstr("18 training and 18 evaluation samples of [3,16,16], 2 classes"));
  EXPECT_THAT(done.out, HasSubstr("train/0/3.jpg"));
  EXPECT_THAT(done.out, HasSubstr("1 broken image was left out"));
  EXPECT_EQ(text_of(dir / "out" / "classes.txt"), "0\n1\n");

  EXPECT_THAT(run(data + "--workers 0 --batch-size 1 --aa rand-m9-mstd0.5-inc1").out,
              HasSubstr("of a step's time is waiting for data; raise --workers (now 0;"));
  Outcome mixed = run(command + "--mixup 0.8 --cutmix 1 --smoothing 0.1");
  EXPECT_EQ(mixed.code, 0) << mixed.out;
  expect_failure(command + "--mixup -1", 1, "mixup -1");

  expect_failure(command + "--on-error fail", 1, "train/0/3.jpg");
  expect_failure(command + "--aa rand-q1", 1, "'q1'");
  expect_failure(command + "--scale 0.9 0.1", 1, "scale 0.9 0.1");
  expect_failure(command + "--no-aug --hflip 1", 1, "--no-aug");
  expect_failure(command + "--mean 0.5 0.5", 1, "2 values of mean for 3 channels");
  expect_failure(command + "--interpolation bicubc", 2, "did you mean 'bicubic'");
  expect_failure("train " + kSmall + "--dataset fake --hflip 1", 1, "fake images");
}

TEST(Convert, ShardsTrainAsTheFolderDoes) {
  TempDir dir;
  write_folders(dir / "data", 6);
  const std::string folder = "folder:" + (dir / "data").string(),
                    shards = "shards:" + (dir / "s").string();
  Outcome done = run("convert " + folder + " " + shards + " --shard-size 8");
  ASSERT_EQ(done.code, 0) << done.out;
  EXPECT_THAT(done.out, HasSubstr("train: 12 images\nval: 12 images\npass --dataset " + shards));
  const auto losses = [&](const std::string& data) {
    const Outcome trained =
        run("train " + kSmall + "--input-size 3 16 16 --batch-size 4 --epochs 1 " +
                "--format json --output " + (dir / "out").string() + " " + data,
            "CENTAVO_LOG=error ");
    EXPECT_EQ(trained.code, 0) << trained.out;
    auto json = nlohmann::json::parse(trained.out, nullptr, false);
    json.erase("seconds");
    return json;
  };
  const auto expected = losses("--dataset " + folder);
  EXPECT_EQ(losses("--dataset " + shards), expected);
  const std::string train = "--dataset " + shards + "/train-{000000..000001}.tar";
  EXPECT_EQ(losses(train + " --val-dataset " + shards + "/val-{000000..000001}.tar"), expected);
  expect_failure("train " + kSmall + train, 1, "--val-dataset");
  expect_failure("convert " + folder + " " + shards, 1, "is there already");
  expect_failure("convert " + folder + " tar:x", 1, "cannot write 'tar'");
  expect_failure("train " + kSmall + "--dataset text:/etc/services --context 64", 1,
                 "takes images");
}

TEST(Train, BadDataIsNamed) {
  TempDir dir;
  write_idx(dir / "", 40, [](int i) { return i % 3; });
  const std::string data = "--dataset idx:" + (dir / "").string() + " --epochs 1 --output " +
                           (dir / "out").string() + " ";
  expect_failure("train " + kSmall + data + "--num-classes 2 --batch-size 8", 1, "label");
  expect_failure("train " + kSmall + data + "--num-classes 3 --batch-size 64", 1, "batch");
  std::filesystem::resize_file(dir / "train-images-idx3-ubyte", 100);
  expect_failure("train " + kSmall + data + "--num-classes 3 --batch-size 8", 1,
                 "train-images-idx3-ubyte");
  expect_failure("train " + kSmall + "--dataset idx:/nowhere --output " + (dir / "out").string(), 1,
                 "/nowhere");
}

TEST(Train, ModelsThatDoNotFitAreNamed) {
  expect_failure("train --model vit_tiny_patch16_224 --img-size 30 --dataset fake", 1,
                 "30 is no whole number of patches of 16");
  expect_failure("train --model vit_tiny_patch16_224 --num-heads 7 --dataset fake", 1, "7 heads");
}

TEST(Train, WhatTheMachineCannotDoIsNamed) {
  expect_failure("bench --model mlp --hidden 8 --threads 100000 --steps 1", 1, "100000 threads");
  expect_failure("bench " + kSmall + "--img-size 224 --in-chans 3 --batch-size 1000000 --steps 1",
                 1, "use a smaller batch");
}

TEST(Train, AnExplodingLossIsNamedWithItsStep) {
  TempDir dir;
  write_idx(dir / "", 40, [](int i) { return i % 3; });
  expect_failure("train " + kSmall + "--num-classes 3 --dataset idx:" + (dir / "").string() +
                     " --batch-size 8 --opt sgd --lr 1e38 --output " + (dir / "out").string(),
                 1, "at step 2");
}

TEST(Train, AnUnwritableOutputIsNamed) {
  expect_failure(
      "train " + kSmall + "--dataset fake --img-size 8 --in-chans 1 --output /dev/null/x", 1,
      "/dev/null/x");
}

}  // namespace
}  // namespace centavo
