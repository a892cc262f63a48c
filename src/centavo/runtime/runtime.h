// From recorded tensors to values: eval() for a few tensors, compile() for a function that runs
// many times.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "centavo/backend/backend.h"

namespace centavo {

// The device that eval() and compile() use unless told: "cpu" with all cores, opened at first use.
Device default_device();
void set_default_device(Device device);

// -- values

// A tensor that holds row-major host data, copied.
Tensor from_host(const TensorType& type, const void* bytes,
                 const Device& device = default_device());
template <class T>
Tensor from_vector(const Shape& shape, const std::vector<T>& values,
                   const Device& device = default_device()) {
  if (static_cast<int64_t>(values.size()) != shape.elements()) {
    throw Error("from_vector", "{} values do not fill {}", values.size(), to_string(shape));
  }
  return from_host({dtype_of<T>(), shape}, values.data(), device);
}
Tensor from_buffer(BufferPtr buffer);

// Runs what the tensors need, unless they have values, and gives them their values.
void eval(const std::vector<Tensor>& tensors, const Device& device = default_device());
// Evaluates x and copies its bytes, row-major; bytes must hold x.type().bytes().
void read(const Tensor& x, void* bytes);
// Evaluates x and returns its elements; T must be x's dtype.
template <class T>
std::vector<T> to_vector(const Tensor& x) {
  if (dtype_of<T>() != x.dtype())
    throw Error("to_vector", "asked for {} from {}", name_of(dtype_of<T>()), to_string(x.type()));
  static_assert(!std::is_same_v<T, bool>, "read bools as bytes");
  std::vector<T> values(static_cast<size_t>(x.shape().elements()));
  read(x, values.data());
  return values;
}
// Evaluates a tensor of one element, of any dtype.
double item(const Tensor& x);

// -- compiled functions

struct FunctionOptions {
  std::string name = "function";
  Device device;  // default_device() when null
  // (output, argument): the output takes over the argument's buffer. The argument's value is gone
  // after a call.
  std::vector<std::pair<int, int>> donate;
};

// A function of tensors that is recorded and compiled at its first call for each combination of
// argument types; later calls only launch. Values that f captures are passed as they were when it
// was recorded.
class CompiledFunction {
 public:
  using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
  CompiledFunction() = default;
  CompiledFunction(Body body, FunctionOptions options);

  // Arguments are evaluated first if they have no values. Returns tensors with values (perhaps
  // still running).
  std::vector<Tensor> operator()(const std::vector<Tensor>& arguments);
  // Compiles for these argument types without running; the executable's facts.
  const ExecutableInfo& prepare(const std::vector<TensorType>& types) { return executable(types).info(); }
  // The compiled program for these types: its profile, its facts.
  Executable& executable(const std::vector<TensorType>& types);
  // The graph as recorded for these types, before any pass.
  const Graph& graph(const std::vector<TensorType>& types);

 private:
  struct Entry;
  struct State;
  Entry& entry(const std::vector<TensorType>& types);
  Executable& compiled(Entry& entry);
  std::shared_ptr<State> state_;
};

CompiledFunction compile(CompiledFunction::Body body, FunctionOptions options = {});

}  // namespace centavo
