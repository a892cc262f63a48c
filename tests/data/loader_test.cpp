// The loader: every sample once an epoch, the same batches whatever the threads do, clean ends.
#include "centavo/data/loader.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <gmock/gmock.h>
#include <numeric>
#include <set>
#include <thread>

#include "centavo/base/philox.h"
#include "centavo/data/order.h"

namespace centavo::data {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

// Three floats a sample that spell out its key; the target is the index. Slow by a random time if
// told so.
class Probe : public Dataset {
 public:
  explicit Probe(int64_t size, bool jitter = false, int64_t broken = -1)
      : size_(size), jitter_(jitter), broken_(broken) {}
  std::string name() const override { return "probe"; }
  int64_t size() const override { return size_; }
  TensorType input_type() const override { return {DType::kF32, {3}}; }
  int64_t num_classes() const override { return size_; }
  void get(const SampleKey& key, void* input, int32_t* target) const override {
    ++calls;
    if (key.index == broken_) throw Error("probe", "sample {} is broken", key.index);
    if (jitter_ && calls % 3 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(calls % 400));
    auto* out = static_cast<float*>(input);
    out[0] = static_cast<float>(key.seed);
    out[1] = static_cast<float>(key.epoch);
    out[2] = static_cast<float>(key.index);
    *target = static_cast<int32_t>(key.index);
  }
  mutable std::atomic<int64_t> calls = 0;

 private:
  int64_t size_;
  bool jitter_;
  int64_t broken_;
};

LoaderOptions small(int64_t batch_size, int workers) {
  LoaderOptions o;
  o.batch_size = batch_size;
  o.workers = workers;
  o.epochs = 3;
  o.seed = 17;
  return o;
}

struct Seen {
  std::vector<float> images;
  std::vector<int32_t> targets;
  std::vector<std::array<int64_t, 3>> places;  // epoch, index, valid
  bool operator==(const Seen&) const = default;
};

Seen read_all(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options) {
  Loader loader(std::move(dataset), options);
  Seen seen;
  while (auto batch = loader.next()) {
    seen.images.insert(seen.images.end(), batch->images().begin(), batch->images().end());
    seen.targets.insert(seen.targets.end(), batch->targets().begin(), batch->targets().end());
    seen.places.push_back({batch->epoch(), batch->index(), batch->valid()});
  }
  EXPECT_EQ(loader.next(), nullptr);
  return seen;
}

TEST(EpochOrder, IsAPermutationOfItsOwn) {
  std::set<std::vector<int64_t>> orders;
  for (auto [seed, epoch] : {std::pair{1u, 0}, {1u, 1}, {2u, 0}, {2u, 1}}) {
    const std::vector<int64_t> order = epoch_order(1001, seed, epoch);
    EXPECT_EQ(order, epoch_order(1001, seed, epoch));
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int64_t i = 0; i < 1001; ++i) ASSERT_EQ(sorted[static_cast<size_t>(i)], i);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 4u);
}

TEST(EpochOrder, EveryOrderIsEquallyLikely) {
  std::map<std::vector<int64_t>, int> count;
  constexpr int kDraws = 24000;
  for (int epoch = 0; epoch < kDraws; ++epoch) ++count[epoch_order(4, 3, epoch)];
  ASSERT_EQ(count.size(), 24u);
  double chi2 = 0;
  for (const auto& [order, n] : count) chi2 += (n - 1000.0) * (n - 1000.0) / 1000.0;
  EXPECT_LT(chi2, 49.7);  // 23 degrees of freedom, 1 in 1000
}

TEST(Loader, EverySampleOnceAnEpoch) {
  for (bool drop_last : {true, false}) {
    LoaderOptions options = small(7, 2);
    options.drop_last = drop_last;
    const Seen seen = read_all(std::make_shared<Probe>(30), options);
    const size_t batches = drop_last ? 4 : 5;
    ASSERT_EQ(seen.places.size(), 3 * batches);
    for (size_t epoch = 0; epoch < 3; ++epoch) {
      std::multiset<int32_t> targets;
      for (size_t b = 0; b < batches; ++b) {
        const size_t at = epoch * batches + b;
        const bool last = b == 4;
        EXPECT_EQ(seen.places[at],
                  (std::array<int64_t, 3>{int64_t(epoch), int64_t(b), last ? 2 : 7}));
        for (size_t i = 0; i < 7; ++i) {
          const size_t slot = at * 7 + i;
          if (last && i >= 2) {
            EXPECT_EQ(seen.targets[slot], kPaddingTarget);
            EXPECT_EQ(seen.images[slot * 3 + 2], 0);
            continue;
          }
          targets.insert(seen.targets[slot]);
          EXPECT_EQ(seen.images[slot * 3], 17);
          EXPECT_EQ(seen.images[slot * 3 + 1], epoch);
          EXPECT_EQ(seen.images[slot * 3 + 2], seen.targets[slot]);
        }
      }
      EXPECT_EQ(targets.size(), drop_last ? 28u : 30u);
      EXPECT_EQ(std::set(targets.begin(), targets.end()).size(), targets.size());
    }
  }
}

TEST(Loader, UnshuffledIsInOrder) {
  LoaderOptions options = small(5, 1);
  options.shuffle = false;
  options.epochs = 1;
  std::vector<int32_t> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(read_all(std::make_shared<Probe>(23), options).targets, expected);
}

TEST(Loader, WorkersDoNotChangeBatches) {
  LoaderOptions options = small(6, 0);
  options.drop_last = false;
  const Seen expected = read_all(std::make_shared<Probe>(100), options);
  for (int workers : {1, 2, 3, 8}) {
    for (int prefetch : {1, 4}) {
      options.workers = workers;
      options.prefetch = prefetch;
      EXPECT_EQ(read_all(std::make_shared<Probe>(100, true), options), expected) << workers;
    }
  }
}

TEST(Loader, RanksShareTheGlobalBatch) {
  constexpr int64_t kSize = 103;
  for (bool drop_last : {true, false}) {
    LoaderOptions one = small(12, 1);
    one.drop_last = drop_last;
    const Seen whole = read_all(std::make_shared<Probe>(kSize), one);
    std::vector<Seen> shares;
    for (int rank = 0; rank < 3; ++rank) {
      LoaderOptions options = one;
      options.batch_size = 4;
      options.rank = rank;
      options.world = 3;
      shares.push_back(read_all(std::make_shared<Probe>(kSize), options));
      ASSERT_EQ(shares.back().places.size(), whole.places.size());
    }
    for (size_t b = 0; b < whole.places.size(); ++b) {
      std::multiset<int32_t> expected(&whole.targets[b * 12], &whole.targets[b * 12] + 12), actual;
      int64_t valid = 0;
      for (const Seen& share : shares) {
        actual.insert(&share.targets[b * 4], &share.targets[b * 4] + 4);
        valid += share.places[b][2];
        for (int64_t i = 0; i < 4; ++i)
          EXPECT_EQ(share.targets[b * 4 + size_t(i)] == kPaddingTarget, i >= share.places[b][2]);
      }
      EXPECT_EQ(actual, expected);
      EXPECT_EQ(valid, whole.places[b][2]);
    }
  }
}

TEST(Loader, ResumesAnywhere) {
  LoaderOptions options = small(8, 2);
  const Seen whole = read_all(std::make_shared<Probe>(50), options);  // 6 batches an epoch
  options.first_epoch = 1;
  options.first_batch = 4;
  options.epochs = 2;
  const Seen rest = read_all(std::make_shared<Probe>(50), options);
  ASSERT_EQ(rest.places.size(), 8u);
  EXPECT_EQ(rest.targets, std::vector(whole.targets.begin() + 10 * 8, whole.targets.end()));
  options.first_batch = 6;  // an epoch's end is the next one's beginning
  EXPECT_EQ(read_all(std::make_shared<Probe>(50), options).places.front()[0], 2);
}

TEST(Loader, ErrorsComeInTheirTurn) {
  for (int workers : {0, 1, 4}) {
    LoaderOptions options = small(5, workers);
    options.shuffle = false;
    Loader loader(std::make_shared<Probe>(40, false, 12), options);
    EXPECT_EQ(loader.next()->targets()[0], 0);
    EXPECT_EQ(loader.next()->targets()[0], 5);
    for (int again = 0; again < 2; ++again) {
      try {
        loader.next();
        FAIL() << "no error";
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "[probe] sample 12 is broken");
      }
    }
  }
}

TEST(Loader, StopsAtAnyMoment) {
  for (int taken = 0; taken < 40; ++taken) {
    auto dataset = std::make_shared<Probe>(1000, true);
    LoaderOptions options = small(3, 1 + taken % 4);
    options.epochs = std::nullopt;
    std::shared_ptr<const Batch> held;
    {
      Loader loader(dataset, options);
      for (int i = 0; i < taken; ++i) held = loader.next();
    }
    if (held) {
      EXPECT_EQ(held->images()[2], held->targets()[0]);  // outlives its loader
    }
  }
}

TEST(Loader, BuffersAreAlignedAndReused) {
  LoaderOptions options = small(5, 2);
  options.epochs = std::nullopt;
  Loader loader(std::make_shared<Probe>(100), options);
  std::set<const float*> buffers;
  for (int i = 0; i < 200; ++i) {
    const auto batch = loader.next();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(batch->input()) % 64, 0u);
    EXPECT_EQ(batch->input_type(), (TensorType{DType::kF32, {5, 3}}));
    EXPECT_EQ(batch->target_type(), (TensorType{DType::kI32, {5}}));
    EXPECT_GE(batch->wait_seconds(), 0);
    buffers.insert(batch->images().data());
  }
  EXPECT_LE(buffers.size(), static_cast<size_t>(options.prefetch) + 1);
}

TEST(Loader, WorksNoFurtherAheadThanToldTo) {
  auto dataset = std::make_shared<Probe>(1000);
  LoaderOptions options = small(10, 2);
  options.prefetch = 3;
  Loader loader(dataset, options);
  const auto batch = loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(dataset->calls, 40);
}

TEST(Loader, BadOptionsAreNamed) {
  auto error_of = [](const LoaderOptions& options) -> std::string {
    try {
      Loader loader(std::make_shared<Probe>(10), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of(small(11, 1)),
              AllOf(HasSubstr("more than the 10 samples of probe"), HasSubstr("--batch-size 10")));
  EXPECT_THAT(error_of(small(0, 1)), HasSubstr("at least 1"));
  EXPECT_THAT(error_of(small(1, -1)), HasSubstr("workers"));
  LoaderOptions padded = small(11, 1);
  padded.drop_last = false;
  EXPECT_EQ(error_of(padded), "");
}

TEST(Fake, IsReproducibleAndLabelled) {
  DatasetOptions options;
  EXPECT_EQ(open_dataset("fake")->size(), 1'000'000);
  EXPECT_EQ(open_dataset("fake")->input_type().shape, (Shape{3, 224, 224}));
  options.channels = 2, options.height = 5, options.width = 7, options.num_classes = 4;
  const auto dataset = open_dataset("fake", options);
  std::vector<float> a(70, std::nanf("")), b(70, std::nanf(""));
  int32_t label = -1;
  dataset->get({9, 0, 123457}, a.data(), &label);
  EXPECT_EQ(label, 1);
  dataset->get({9, 5, 123457}, b.data(), &label);
  EXPECT_EQ(a, b);
  dataset->get({9, 0, 123456}, b.data(), &label);
  EXPECT_NE(a, b);
  options.split = Split::kEval;
  open_dataset("fake", options)->get({9, 0, 123457}, b.data(), &label);
  EXPECT_NE(a, b);
  EXPECT_THAT(a, Each(testing::Not(testing::IsNan())));
}

}  // namespace
}  // namespace centavo::data
