// One mutex guards the queue of batches being made; workers claim a few samples of the oldest
// unfinished batch at a time, so that the batch needed next is ready first and its order is fixed
// before its making begins.
#include "centavo/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "centavo/base/philox.h"
#include "centavo/base/timer.h"
#include "centavo/data/order.h"

namespace centavo::data {

std::vector<int64_t> epoch_order(int64_t size, uint64_t seed, int64_t epoch) {
  constexpr uint64_t kDomain = 0x6f72646572u;  // apart from other uses of the seed
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  Philox rng(seed ^ kDomain, static_cast<uint64_t>(epoch));
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.next_below(i)]);
  return order;
}

void Batch::FreeDeleter::operator()(void* p) const {
  std::free(p);
}

std::span<const float> Batch::images() const {
  CENTAVO_CHECK(input_type_.dtype == DType::kF32, "the input is {}", to_string(input_type_));
  return {static_cast<const float*>(input_.get()),
          static_cast<size_t>(input_type_.shape.elements())};
}

std::span<const int32_t> Batch::targets() const {
  return {static_cast<const int32_t*>(target_.get()),
          static_cast<size_t>(target_type_.shape.elements())};
}

int default_workers() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 4, 1, 8);
}

namespace {

TensorType batched(const TensorType& sample, int64_t batch_size) {
  std::vector<int64_t> dims{batch_size};
  dims.insert(dims.end(), sample.shape.begin(), sample.shape.end());
  return {sample.dtype, Shape(std::move(dims))};
}

void* allocate(int64_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t rounded = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  void* p = std::aligned_alloc(kAlignment, std::max(rounded, kAlignment));
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void check(const LoaderOptions& o, const Dataset& dataset) {
  if (o.batch_size < 1) throw Error("loader", "batch size {}; it must be at least 1", o.batch_size);
  if (o.workers < 0 || o.workers > 1024)
    throw Error("loader", "{} workers; choose 0 to 1024", o.workers);
  if (o.prefetch < 1) throw Error("loader", "prefetch {}; it must be at least 1", o.prefetch);
  CENTAVO_CHECK(o.world >= 1 && o.rank >= 0 && o.rank < o.world, "rank {} of {}", o.rank, o.world);
  if (o.mix.enabled()) {
    if (dataset.input_type().shape.rank() != 3 || dataset.target_type().shape.rank() != 0)
      throw Error("loader", "mixup and cutmix are for images; leave them out for {}",
                  dataset.name());
    CENTAVO_CHECK(o.drop_last, "padding has no class to mix");
    draw_mix(o.mix, 0, 0, 0, 1, 1);  // throws for options out of range
  }
  const int64_t size = dataset.size();
  if (size == 0) throw Error("loader", "{} has no samples", dataset.name());
  if (o.drop_last && o.batch_size > size / o.world) {
    throw Error("loader",
                "a batch of {} on each of {} worker{} is more than the {} samples of {}; choose "
                "--batch-size {} or less",
                o.batch_size, o.world, o.world == 1 ? "" : "s", size, dataset.name(),
                std::max<int64_t>(size / o.world, 1));
  }
}

}  // namespace

struct Loader::Impl {
  // A batch in the making.
  struct Pending {
    std::unique_ptr<Batch> batch;
    std::shared_ptr<const std::vector<int64_t>> order;  // null: as the data comes
    int64_t claimed = 0;   // samples that some worker has or had in hand
    int64_t finished = 0;  // samples done
    std::exception_ptr error;
  };
  struct Claim {
    Pending* pending = nullptr;
    int64_t begin = 0, end = 0;
  };

  Impl(std::shared_ptr<const Dataset> data, const LoaderOptions& o)
      : dataset(std::move(data)), options(o), epoch(o.first_epoch), index(o.first_batch) {
    check(options, *dataset);
    const int64_t global = options.batch_size * options.world;
    per_epoch = (dataset->size() + (options.drop_last ? 0 : global - 1)) / global;
    CENTAVO_CHECK(index >= 0 && index <= per_epoch, "batch {} of {}", index, per_epoch);
    // Claims of about 64 KiB: large beside the lock's cost, small beside a batch.
    const int64_t bytes = std::max<int64_t>(dataset->input_type().bytes(), 1);
    chunk = std::clamp<int64_t>((1 << 16) / bytes, 1, options.batch_size);
    skip_to_next_epoch();
  }

  bool exhausted() const {
    return options.epochs && epoch >= options.first_epoch + *options.epochs;
  }
  bool may_claim() const {
    if (!pending.empty() && pending.back().claimed < options.batch_size) return true;
    return pending.size() < static_cast<size_t>(options.prefetch) && !exhausted();
  }
  bool front_ready() const {
    return !pending.empty() && pending.front().finished == options.batch_size;
  }

  // Takes the next samples to make. Called with the lock held and may_claim().
  Claim claim() {
    if (pending.empty() || pending.back().claimed == options.batch_size) open_batch();
    Pending& p = pending.back();
    const int64_t begin = p.claimed;
    p.claimed = std::min(begin + chunk, options.batch_size);
    return {&p, begin, p.claimed};
  }

  void open_batch() {
    if (options.shuffle && (!order || order_epoch != epoch)) {
      order = std::make_shared<const std::vector<int64_t>>(
          epoch_order(dataset->size(), options.seed, epoch));
      order_epoch = epoch;
    }
    std::unique_ptr<Batch> batch;
    if (free.empty()) {
      batch = std::make_unique<Batch>();
      batch->input_type_ = batched(dataset->input_type(), options.batch_size);
      batch->target_type_ = options.mix.enabled()
                                ? TensorType{DType::kI32, {kMixRows, options.batch_size}}
                                : batched(dataset->target_type(), options.batch_size);
      batch->input_.reset(allocate(batch->input_type_.bytes()));
      batch->target_.reset(allocate(batch->target_type_.bytes()));
      batch->size_ = options.batch_size;
    } else {
      batch = std::move(free.back());
      free.pop_back();
    }
    batch->epoch_ = epoch;
    batch->index_ = index;
    // Positions grow with the slot, so the samples beyond the end are the last slots.
    const int64_t left = dataset->size() - position(index, 0);
    batch->valid_ =
        std::clamp<int64_t>((left + options.world - 1) / options.world, 0, options.batch_size);
    pending.push_back({std::move(batch), order, 0, 0, nullptr});
    ++index;
    skip_to_next_epoch();
  }

  void skip_to_next_epoch() {
    if (index < per_epoch) return;
    ++epoch;
    index = 0;
  }

  // Where in its epoch's order slot `slot` of this rank's batch lies.
  int64_t position(int64_t batch_index, int64_t slot) const {
    return (batch_index * options.batch_size + slot) * options.world + options.rank;
  }

  // Makes the claimed samples; the lock is not held. Nobody else touches these slots.
  void make(const Claim& c) const {
    Batch& batch = *c.pending->batch;
    const auto input_bytes = static_cast<size_t>(dataset->input_type().bytes());
    const auto targets = static_cast<size_t>(dataset->target_type().shape.elements());
    for (int64_t slot = c.begin; slot < c.end; ++slot) {
      std::byte* input =
          static_cast<std::byte*>(batch.input_.get()) + static_cast<size_t>(slot) * input_bytes;
      int32_t* target =
          static_cast<int32_t*>(batch.target_.get()) + static_cast<size_t>(slot) * targets;
      if (slot >= batch.valid_) {
        std::memset(input, 0, input_bytes);
        std::fill_n(target, targets, kPaddingTarget);
        continue;
      }
      const int64_t place = position(batch.index_, slot);
      const int64_t sample =
          c.pending->order ? (*c.pending->order)[static_cast<size_t>(place)] : place;
      dataset->get({options.seed, batch.epoch_, sample}, input, target);
    }
  }

  // Mixes a batch whose samples are all made; the lock is not held.
  void mix(Batch& batch) const {
    const Shape& shape = batch.input_type_.shape;
    const Mix drawn =
        draw_mix(options.mix, options.seed, batch.epoch_, batch.index_, shape[2], shape[3]);
    mix_images({static_cast<float*>(batch.input_.get()), static_cast<size_t>(shape.elements())},
               shape, drawn);
    mix_targets({static_cast<int32_t*>(batch.target_.get()), batch.targets().size()}, drawn);
  }

  // One claim from taking to handing in. Called with the lock held and may_claim(); holds it again
  // at the end.
  void work_once(std::unique_lock<std::mutex>& lock) {
    const Claim c = claim();
    lock.unlock();
    std::exception_ptr error;
    try {
      make(c);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !c.pending->error) c.pending->error = error;
    const bool last = c.pending->finished + c.end - c.begin == options.batch_size;
    if (last && options.mix.enabled() && !c.pending->error) {
      lock.unlock();
      mix(*c.pending->batch);
      lock.lock();
    }
    c.pending->finished += c.end - c.begin;
    if (front_ready()) ready.notify_one();
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      work_available.wait(lock, [&] { return stop || may_claim(); });
      if (stop) return;
      try {
        work_once(lock);
      } catch (...) {  // no memory for another batch
        failure = std::current_exception();
        stop = true;
        ready.notify_one();
      }
    }
  }

  std::shared_ptr<const Dataset> dataset;
  LoaderOptions options;
  int64_t per_epoch = 0, chunk = 1;

  std::mutex mutex;  // guards everything below
  std::condition_variable work_available, ready;
  std::deque<Pending> pending;  // front: the one that next() hands out
  std::vector<std::unique_ptr<Batch>> free;
  int64_t epoch, index;  // of the batch to be opened next
  std::shared_ptr<const std::vector<int64_t>> order;
  int64_t order_epoch = 0;
  bool stop = false;
  std::exception_ptr failure;  // of a worker itself rather than of a sample
  std::vector<std::thread> threads;
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
    : impl_(std::make_shared<Impl>(std::move(dataset), options)) {
  for (int i = 0; i < options.workers; ++i)
    impl_->threads.emplace_back([impl = impl_.get()] { impl->work(); });
}

Loader::~Loader() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->work_available.notify_all();
  for (std::thread& t : impl_->threads) t.join();
}

std::shared_ptr<const Batch> Loader::next() {
  Timer timer;
  Impl& impl = *impl_;
  std::unique_lock lock(impl.mutex);
  if (impl.options.workers == 0) {
    while (!impl.front_ready() && impl.may_claim()) impl.work_once(lock);
  } else {
    impl.ready.wait(
        lock, [&] { return impl.front_ready() || (impl.pending.empty() && impl.exhausted()); });
  }
  if (impl.pending.empty()) return nullptr;
  if (impl.pending.front().error) std::rethrow_exception(impl.pending.front().error);
  std::unique_ptr<Batch> batch = std::move(impl.pending.front().batch);
  impl.pending.pop_front();
  lock.unlock();
  impl.work_available.notify_all();
  batch->wait_seconds_ = timer.seconds();
  return {batch.release(), [weak = std::weak_ptr(impl_)](const Batch* b) {
            std::unique_ptr<Batch> mine(const_cast<Batch*>(b));
            if (auto owner = weak.lock()) {
              std::lock_guard guard(owner->mutex);
              owner->free.push_back(std::move(mine));
            }
          }};
}

int64_t Loader::batches_per_epoch() const {
  return impl_->per_epoch;
}
const Dataset& Loader::dataset() const {
  return *impl_->dataset;
}

}  // namespace centavo::data
