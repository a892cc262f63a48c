// Checkpoints: a run that is stopped and resumed equals one that never stopped, bit for bit.
#include "centavo/train/checkpoint.h"

#include <fstream>
#include <gmock/gmock.h>

#include "tests/temp_dir.h"
#include "tests/train/small.h"

#include "centavo/train/trainer.h"

namespace centavo {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int64_t kBatch = 14, kStepsPerEpoch = 10, kEpochs = 3;

// A process that trains with `output`, as far as its options say.
struct Process {
  explicit Process(const fs::path& output)
      : model(small_vit(0.1)),
        optimizer(make_optimizer("adam", {})),
        step(*model, *optimizer, {.precision = Precision::kF32}) {
    options.output = output;
    options.epochs = kEpochs;
    options.recovery_interval = 4;
    options.schedule = {"cosine", 1e-2, 0, 0, 4, kEpochs * kStepsPerEpoch};
  }
  void resume(const fs::path& checkpoint) {
    options.resume = load_checkpoint(checkpoint, *model, step);
  }
  bool train() {
    data::Loader loader(std::make_shared<Stripes>(kStepsPerEpoch * kBatch + 3),
                        {.batch_size = kBatch,
                         .workers = 1,
                         .first_epoch = options.resume.epoch,
                         .first_batch = options.resume.batch});
    Trainer trainer(*model, step, options);
    results = trainer.run(loader, [] {
      return std::make_unique<data::Loader>(std::make_shared<Stripes>(2 * kBatch + 5),
                                            data::LoaderOptions{.batch_size = kBatch,
                                                                .workers = 1,
                                                                .shuffle = false,
                                                                .drop_last = false,
                                                                .epochs = 1});
    });
    return !trainer.interrupted();
  }
  std::vector<std::vector<float>> weights() const {
    std::vector<std::vector<float>> all;
    for (const Tensor& t : step.parameters()) all.push_back(to_vector<float>(t));
    return all;
  }

  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  TrainStep step;
  TrainerOptions options;
  std::vector<EpochResult> results;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

class StoppedAt : public testing::TestWithParam<int64_t> {};

TEST_P(StoppedAt, ResumesBitEqual) {
  TempDir dir;
  Process whole(dir / "whole");
  ASSERT_TRUE(whole.train());

  Process first(dir / "parts");
  first.options.stop_requested = [&] { return first.step.steps_done() >= GetParam(); };
  ASSERT_FALSE(first.train());
  ASSERT_LT(first.step.steps_done(), kEpochs * kStepsPerEpoch);
  Process second(dir / "parts");
  second.resume(newest_checkpoint(dir / "parts"));
  EXPECT_EQ(second.options.resume.step, first.step.steps_done());
  ASSERT_TRUE(second.train());

  EXPECT_EQ(second.weights(), whole.weights());
  ASSERT_EQ(second.results.size(), whole.results.size());
  for (size_t i = 0; i < whole.results.size(); ++i) {
    EXPECT_EQ(second.results[i].train_loss, whole.results[i].train_loss);
    EXPECT_EQ(second.results[i].eval_loss(), whole.results[i].eval_loss());
  }
  EXPECT_EQ(text_of(dir / "parts" / "summary.csv"), text_of(dir / "whole" / "summary.csv"));
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, StoppedAt, testing::Values(0, 3, 9, 10, 17, 27));

TEST(Checkpoint, KeepsTheNewestAndTheBest) {
  TempDir dir;
  Process run(dir / "out");
  run.options.checkpoint_hist = 1;
  ASSERT_TRUE(run.train());
  const fs::path best = fs::read_symlink(dir / "out" / "model_best");
  EXPECT_EQ(fs::read_symlink(dir / "out" / "last"), "checkpoint-30");
  EXPECT_TRUE(fs::exists(dir / "out" / best / "DONE"));
  int64_t kept = 0;
  for (const auto& entry : fs::directory_iterator(dir / "out"))
    kept += !entry.is_symlink() && entry.path().filename().string().starts_with("checkpoint-");
  EXPECT_EQ(kept, best == "checkpoint-30" ? 1 : 2);
}

TEST(Checkpoint, PassesOverWhatIsHalfWritten) {
  TempDir dir;
  Process run(dir / "out");
  run.options.max_steps = 6;
  ASSERT_TRUE(run.train());
  fs::copy(dir / "out" / "checkpoint-6", dir / "out" / "checkpoint-7", fs::copy_options::recursive);
  fs::remove(dir / "out" / "checkpoint-7" / "DONE");
  EXPECT_EQ(newest_checkpoint(dir / "out").filename(), "checkpoint-6");
  EXPECT_EQ(find_checkpoint(dir / "out").filename(), "checkpoint-6");
  EXPECT_THAT(message_of([&] { find_checkpoint(dir / "out" / "checkpoint-7"); }),
              HasSubstr("no DONE"));
}

TEST(Checkpoint, NamesTheFileThatIsDamaged) {
  TempDir dir;
  Process run(dir / "out");
  run.options.max_steps = 4;
  ASSERT_TRUE(run.train());
  const fs::path checkpoint = newest_checkpoint(dir / "out");
  const std::string state = text_of(checkpoint / "trainer_state.json");
  for (const std::string& damaged : {std::string(), state.substr(0, state.size() / 2),
                                     std::string("[]"), std::string("{\"step\": \"x\"}")}) {
    std::ofstream(checkpoint / "trainer_state.json") << damaged;
    EXPECT_THAT(message_of([&] { Process(dir / "out").resume(checkpoint); }),
                HasSubstr("trainer_state.json"));
  }
  std::ofstream(checkpoint / "trainer_state.json") << state;
  fs::resize_file(checkpoint / "optimizer.safetensors",
                  fs::file_size(checkpoint / "optimizer.safetensors") / 2);
  EXPECT_THAT(message_of([&] { Process(dir / "out").resume(checkpoint); }),
              HasSubstr("optimizer.safetensors"));
}

}  // namespace
}  // namespace centavo
