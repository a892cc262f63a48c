// One rank of an MPI job: checks the collectives and a data-parallel training step, and fails with
// a line that says what differs. Started by dist_test.sh under mpirun.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/train/small.h"

#include "centavo/dist/group.h"
#include "centavo/optim/optimizer.h"
#include "centavo/train/step.h"

namespace centavo {
namespace {

int failures = 0;

void expect(bool ok, const std::string& what) {
  if (ok) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

// What rank r contributes at place i: small multiples of 1/8, which all dtypes hold exactly.
double value(int rank, int64_t i) {
  return static_cast<double>((i * 7 + rank * 3) % 16 - 8) / 8;
}

template <class T>
void check_reductions(dist::Group& group, int64_t count) {
  const std::string name = fmt::format("{} elements of {}", count, name_of(dtype_of<T>()));
  const int n = group.size(), me = group.rank();
  std::vector<T> whole(static_cast<size_t>(count)), out(whole.size());
  for (int64_t i = 0; i < count; ++i) whole[static_cast<size_t>(i)] = T(value(me, i));
  // Two pieces of odd sizes, one in place.
  const int64_t first = count / 3;
  std::vector<T> tail(whole.begin() + first, whole.end());
  std::vector<dist::Piece> pieces = {{whole.data(), out.data(), first},
                                     {tail.data(), tail.data(), count - first}};
  group.all_reduce(pieces, dtype_of<T>(), 0.5);
  std::copy(tail.begin(), tail.end(), out.begin() + first);
  bool right = true;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int r = 0; r < n; ++r) sum += value(r, i);
    right &= out[static_cast<size_t>(i)] == T(sum / 2);
  }
  expect(right, "all_reduce of " + name);
  std::vector<T> wide(static_cast<size_t>(count * n)), part(static_cast<size_t>(count));
  for (int64_t i = 0; i < count * n; ++i) wide[static_cast<size_t>(i)] = T(value(me, i));
  group.reduce_scatter(wide.data(), part.data(), count, dtype_of<T>(), 1);
  right = true;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int r = 0; r < n; ++r) sum += value(r, me * count + i);
    right &= part[static_cast<size_t>(i)] == T(sum);
  }
  expect(right, "reduce_scatter of " + name);
}

void check_movement(dist::Group& group, int64_t bytes) {
  auto fill = [&](int rank) {
    std::vector<uint8_t> data(static_cast<size_t>(bytes));
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<uint8_t>(i * 31 + i / 255 + static_cast<size_t>(rank));
    return data;
  };
  for (int root = 0; root < group.size(); ++root) {
    std::vector<uint8_t> data = fill(group.rank());
    group.broadcast(data.data(), bytes, root);
    expect(data == fill(root), fmt::format("broadcast of {} bytes from {}", bytes, root));
  }
  std::vector<uint8_t> all(static_cast<size_t>(bytes * group.size())), mine = fill(group.rank());
  group.all_gather(mine.data(), all.data(), bytes);
  for (int r = 0; r < group.size(); ++r)
    expect(std::memcmp(all.data() + r * bytes, fill(r).data(), static_cast<size_t>(bytes)) == 0,
           fmt::format("all_gather of {} bytes, rank {}'s", bytes, r));
}

// N ranks on their shares of a batch, and one process on the whole of it, in fp32.
void check_training(const std::shared_ptr<dist::Group>& group) {
  const int n = group->size(), me = group->rank();
  auto model = small_vit();
  auto sgd = make_optimizer("sgd", {.momentum = 0.9});
  StepOptions alone{.precision = Precision::kF32, .device = open_device("cpu", {.threads = 1})};
  StepOptions shared = alone;
  shared.device = open_device("cpu", {.threads = 1, .group = group});
  shared.group = group;
  shared.bucket_bytes = 4000;
  shared.seed = 7;
  alone.seed = 7;
  constexpr int64_t kShare = 4;
  TrainStep one(*model, *sgd, alone), many(*model, *sgd, shared);
  for (uint64_t step = 0; step < 20; ++step) {
    SmallBatch batch = small_batch(kShare * n, 10 + step);
    std::vector<float> pixels = to_vector<float>(batch.images);
    const auto begin = static_cast<int64_t>(me) * kShare;
    std::vector<float> my_pixels(pixels.begin() + begin * 64,
                                 pixels.begin() + (begin + kShare) * 64);
    std::vector<int32_t> my_targets(batch.targets.begin() + begin,
                                    batch.targets.begin() + begin + kShare);
    const double whole = item(one.run(batch.images, batch.labels, 0.05));
    const double mean = item(many.run(from_vector({kShare, 1, 8, 8}, my_pixels),
                                      from_vector({kShare}, my_targets), 0.05));
    expect(std::abs(whole - mean) <= 1e-5 * std::abs(whole),
           fmt::format("loss of step {}: {} by one rank, {} by {}", step, whole, mean, n));
  }
  for (size_t i = 0; i < many.parameters().size(); ++i) {
    std::vector<float> mine = to_vector<float>(many.parameters()[i]);
    std::vector<float> all(mine.size() * static_cast<size_t>(n));
    const auto bytes = mine.size() * sizeof(float);
    group->all_gather(mine.data(), all.data(), static_cast<int64_t>(bytes));
    for (int r = 0; r < n; ++r)
      expect(
          std::memcmp(all.data() + static_cast<size_t>(r) * mine.size(), mine.data(), bytes) == 0,
          fmt::format("parameter {} has the bits of rank {}'s", i, r));
  }
}

}  // namespace
}  // namespace centavo

int main(int argc, char** argv) {
  using namespace centavo;
  const bool hang = argc > 2 && std::string(argv[1]) == "hang";
  auto group = dist::open_group({.timeout = hang ? 2.0 : 60.0});
  const int expected = std::atoi(argv[argc - 1]);
  expect(group->size() == expected, fmt::format("{} ranks, {} wanted", group->size(), expected));
  if (hang) {
    if (group->rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(40));
    group->barrier();
    return 3;  // not reached
  }
  for (int64_t count : {1, 5, 1000, 3'000'001}) {
    check_reductions<float>(*group, count);
    check_reductions<bf16>(*group, count);
  }
  for (int64_t bytes : {1, 100, 5'000'000}) check_movement(*group, bytes);
  group->barrier();
  check_training(group);
  return failures == 0 ? 0 : 1;
}
