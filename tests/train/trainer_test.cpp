// The loop, the benchmark and their statistics.
#include "centavo/train/trainer.h"

#include <cmath>
#include <fstream>
#include <gmock/gmock.h>

#include "tests/temp_dir.h"
#include "tests/train/small.h"

#include "centavo/runtime/metrics.h"
#include "centavo/train/bench.h"

namespace centavo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kBatch = 14;

struct SmallRun {
  explicit SmallRun(double lr = 1e-2)
      : model(small_vit()),
        optimizer(make_optimizer("adam", {})),
        step(*model, *optimizer, {.precision = Precision::kF32}),
        train_set(std::make_shared<Stripes>(10 * kBatch + 3)),
        loader(train_set, {.batch_size = kBatch, .workers = 1}) {
    options.schedule.lr = lr;
  }
  std::vector<EpochResult> train() {
    Trainer trainer(*model, step, options);
    return trainer.run(loader, [] {
      return std::make_unique<data::Loader>(std::make_shared<Stripes>(2 * kBatch + 5),
                                            data::LoaderOptions{.batch_size = kBatch,
                                                                .workers = 1,
                                                                .shuffle = false,
                                                                .drop_last = false,
                                                                .epochs = 1});
    });
  }

  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  TrainStep step;
  std::shared_ptr<const data::Dataset> train_set;
  data::Loader loader;
  TrainerOptions options;
};

TEST(Trainer, LearnsAndEvaluatesEverySampleOnce) {
  TempDir dir;
  SmallRun run;
  run.options.epochs = 8;
  run.options.output = dir / "out";
  std::vector<EpochResult> results = run.train();
  ASSERT_EQ(results.size(), 8u);
  for (const EpochResult& r : results) EXPECT_EQ(r.eval->samples, 2 * kBatch + 5);
  EXPECT_LT(results.back().train_loss, 0.5 * results.front().train_loss);
  EXPECT_GT(results.back().eval->top1, (2 * kBatch + 5) / 2);
  std::ifstream summary(dir / "out" / "summary.csv");
  int lines = 0;
  for (std::string line; std::getline(summary, line);) ++lines;
  EXPECT_EQ(lines, 1 + 8);
  EXPECT_TRUE(std::filesystem::exists(dir / "out" / "model.safetensors"));
}

TEST(Trainer, StopsAtTheStepAskedFor) {
  SmallRun run;
  run.options.epochs = 5;
  run.options.max_steps = 13;
  run.options.log_interval = 4;
  std::vector<int64_t> due, of;
  int64_t steps = 0;
  run.options.on_step = [&](const TrainProgress& p) {
    ++steps;
    EXPECT_GE(p.step_seconds, 0);
    if (p.log_due) due.push_back(p.step), of.push_back(p.steps_in_epoch);
  };
  EXPECT_EQ(run.train().size(), 2u);
  EXPECT_EQ(steps, 13);
  EXPECT_EQ(run.step.steps_done(), 13);
  EXPECT_THAT(due, ElementsAre(4, 8, 10, 3));
  EXPECT_THAT(of, ElementsAre(10, 10, 10, 3));
}

TEST(Trainer, FollowsTheSchedule) {
  SmallRun run;
  run.options.epochs = 1;
  run.options.schedule = {"cosine", 1e-2, 0, 0, 4, 10};
  std::vector<double> rates;
  run.options.on_step = [&](const TrainProgress& p) { rates.push_back(p.lr); };
  run.train();
  ASSERT_EQ(rates.size(), 10u);
  for (int64_t i = 0; i < 10; ++i)
    EXPECT_EQ(rates[static_cast<size_t>(i)], learning_rate(run.options.schedule, i));
}

TEST(Trainer, NamesTheStepOfALossThatIsNotFinite) {
  SmallRun run(1e30);
  try {
    run.train();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::AnyOf(HasSubstr("at step 2 "), HasSubstr("at step 3 ")));
    EXPECT_THAT(e.what(), HasSubstr("epoch 0"));
  }
}

TEST(Bench, SplitsTheStepAndHoldsItsBounds) {
  SmallRun run;
  BenchOptions options{.batch_size = kBatch, .warmup = 2, .steps = 9};
  const int64_t compiles = counter("Compile") + counter("CachedCompile");
  BenchResult result = run_bench(run.step, run.loader, options);
  EXPECT_EQ(result.steps, 9);
  EXPECT_EQ(result.losses.size(), 9u);
  EXPECT_EQ(result.compiles + result.cache_hits, compiles + 1);
  EXPECT_NEAR(result.data_wait.mean + result.host.mean + result.device.mean, result.step.mean,
              0.05 * result.step.mean + 1e-5);
  EXPECT_DOUBLE_EQ(result.samples_per_second, kBatch / result.step.median);
  EXPECT_GT(result.planned_memory_mib, 0);
  options.steps = 1'000'000'000;
  options.max_seconds = 0.05;
  EXPECT_LT(run_bench(run.step, run.loader, options).steps, 1'000'000);
}

TEST(Summarize, AgreesWithTables) {
  Summary s = summarize({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(s.median, 2.5);
  EXPECT_DOUBLE_EQ(s.mean, 2.5);
  // t = 3.182 for three degrees of freedom; standard deviation 1.291.
  EXPECT_NEAR(s.ci95, 3.1824 * 1.29099 / 2, 0.004);
  EXPECT_EQ(summarize({}).mean, 0);
  EXPECT_EQ(summarize({5}).ci95, 0);
  std::vector<double> many;
  for (int i = 0; i < 101; ++i) many.push_back(i);
  // t = 1.984 for a hundred; standard deviation 29.3.
  EXPECT_NEAR(summarize(many).ci95, 1.984 * 29.300 / std::sqrt(101.0), 0.005);
}

}  // namespace
}  // namespace centavo
