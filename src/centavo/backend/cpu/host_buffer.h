// HostBuffer: a value in host memory and the run that fills it.
#pragma once

#include <cstring>
#include <future>
#include <memory>
#include <new>

#include "centavo/backend/backend.h"

namespace centavo::cpu {

// 64-byte aligned memory. Not cleared: whoever owns it writes it first.
class Storage {
 public:
  explicit Storage(int64_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  std::byte* data() { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_;
  std::byte* data_;
};

// Done, or failed with the Error that get() throws; an empty one is done.
using Completion = std::shared_future<void>;

class HostBuffer : public Buffer {
 public:
  HostBuffer(const TensorType& type, std::shared_ptr<Storage> storage, Completion done)
      : Buffer(type), storage_(std::move(storage)), done_(std::move(done)) {}
  void wait() const override {
    if (done_.valid()) done_.get();
  }
  void read(void* bytes) const override {
    wait();
    if (type().bytes() > 0)
      std::memcpy(bytes, storage_->data(), static_cast<size_t>(type().bytes()));
  }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  const Completion& completion() const { return done_; }

 private:
  std::shared_ptr<Storage> storage_;
  Completion done_;
};

}  // namespace centavo::cpu
