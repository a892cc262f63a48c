// centavo run: executes a StableHLO module on a device.
#include <charconv>

#include "centavo/cli/commands.h"
#include "centavo/cli/options.h"
#include "centavo/io/file.h"
#include "centavo/io/json.h"
#include "centavo/io/npy.h"
#include "centavo/ir/array.h"
#include "centavo/stablehlo/expectation.h"
#include "centavo/stablehlo/parse.h"

namespace centavo::cli {
namespace {

struct RunFlags {
  explicit RunFlags(CLI::App& app) : device(app) {
    app.add_option("FILE", file, "A module as text; - for standard input")->required();
    add_value(app, "Program", "--function", function, "NAME", "Which of its functions");
    app.add_option("--input", inputs,
                   "For each argument in turn: a .npy file, or a number that fills it")
        ->type_name("FILE|NUMBER")
        ->group("Data");
    add_value(app, "Data", "-o,--output", output, "DIR",
              "Write each result there as 0.npy, 1.npy, ...");
    add_format(app, format);
  }
  DeviceFlags device;
  std::string file, function = "main", output;
  std::vector<std::string> inputs;
  Format format = Format::kTable;
};

std::string read_module(const std::string& file) {
  if (file != "-") return io::read_file(file);
  std::string text;
  char block[65536];
  while (size_t got = std::fread(block, 1, sizeof block, stdin)) text.append(block, got);
  return text;
}

// The values of an argument: a file's, in any dtype of its kind, or one number.
Array argument_value(const std::string& text, const TensorType& type, size_t index) {
  Array value(type);
  double number = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && stop == text.data() + text.size()) {
    for (int64_t i = 0; i < value.size(); ++i) value.set(i, number);
    return value;
  }
  const io::NpyArray file = io::read_npy(text);
  if (file.type.shape != type.shape || is_floating(file.type.dtype) != is_floating(type.dtype)) {
    throw Error("run", "argument {} is {}, but {} holds {}", index, to_string(type), text,
                to_string(file.type));
  }
  const Array given = Array::from_bytes(file.type, file.data.data());
  if (value.floating()) {
    value.reals = given.reals;
  } else {
    for (size_t i = 0; i < value.wholes.size(); ++i)
      value.wholes[i] = wrap(type.dtype, given.wholes[i]);
  }
  return value;
}

std::vector<BufferPtr> upload_inputs(const RunFlags& f, const Graph& graph, Backend& device) {
  if (f.inputs.size() != graph.inputs.size()) {
    std::string types;
    for (const Tensor& input : graph.inputs)
      types += (types.empty() ? "" : ", ") + to_string(input.type());
    throw Error("run", "@{} takes {} argument(s){}{}; give --input for each, got {}", f.function,
                graph.inputs.size(), types.empty() ? "" : ": ", types, f.inputs.size());
  }
  std::vector<BufferPtr> buffers;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    const TensorType& type = graph.inputs[i].type();
    std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
    argument_value(f.inputs[i], type, i).to_bytes(bytes.data());
    buffers.push_back(device.upload(type, bytes.data()));
  }
  return buffers;
}

using Bytes = std::vector<std::byte>;

std::vector<Bytes> values_of(const std::vector<BufferPtr>& buffers) {
  std::vector<Bytes> values;
  for (const BufferPtr& buffer : buffers) {
    values.emplace_back(static_cast<size_t>(buffer->type().bytes()));
    buffer->read(values.back().data());
  }
  return values;
}

// "[[1, 2], [3, 4]]"; at most `most` numbers.
std::string rows(const Array& value, int dim, int64_t& at, int64_t most) {
  if (dim == value.type.shape.rank()) {
    const int64_t i = at++;
    if (!value.floating()) return fmt::format("{}", value.wholes[static_cast<size_t>(i)]);
    return fmt::format("{:.7g}", value.reals[static_cast<size_t>(i)]);
  }
  std::string text = "[";
  for (int64_t i = 0; i < value.type.shape[dim]; ++i) {
    if (at >= most) return text + (i ? ", ...]" : "...]");
    text += (i ? ", " : "") + rows(value, dim + 1, at, most);
  }
  return text + "]";
}

void print_results(const RunFlags& f, const Graph& graph, const std::vector<Bytes>& values,
                   size_t count) {
  constexpr int64_t kMostShown = 64;
  io::Json json = io::Json::array();
  for (size_t i = 0; i < count; ++i) {
    const TensorType& type = graph.outputs[i].type();
    const Array value = Array::from_bytes(type, values[i].data());
    if (f.format == Format::kJson) {
      io::Json numbers = value.floating() ? io::Json(value.reals) : io::Json(value.wholes);
      json.push_back({{"type", to_string(type)}, {"values", std::move(numbers)}});
    } else {
      int64_t at = 0;
      fmt::print("{} {}\n", to_string(type), rows(value, 0, at, kMostShown));
    }
  }
  if (f.format == Format::kJson) fmt::print("{}\n", json.dump(2));
}

// How many expectations do not hold; each is named on standard error.
int broken_expectations(const stablehlo::Program& program, const std::vector<Bytes>& values) {
  int broken = 0;
  for (size_t i = 0; i < program.expectations.size(); ++i) {
    const stablehlo::Expectation& e = program.expectations[i];
    const size_t at = program.results + 2 * i;
    const auto reason = stablehlo::mismatch(e, values[at].data(), values[at + 1].data());
    if (!reason) continue;
    ++broken;
    fmt::print(stderr, "centavo: [{}] {}\n", e.place, *reason);
  }
  return broken;
}

int run_run(RunFlags& f) {
  const Device device = f.device.open();
  const std::string text = read_module(f.file);
  const stablehlo::Program program =
      stablehlo::parse_program(text, f.file == "-" ? "standard input" : f.file, f.function);
  const std::vector<BufferPtr> inputs = upload_inputs(f, program.graph, *device);
  const std::vector<Bytes> values = values_of(device->compile(program.graph)->run(inputs));
  if (!f.output.empty()) {
    io::make_output_directory(f.output);
    for (size_t i = 0; i < program.results; ++i) {
      io::write_npy(std::filesystem::path(f.output) / fmt::format("{}.npy", i),
                    program.graph.outputs[i].type(), values[i].data());
    }
  }
  print_results(f, program.graph, values, program.results);
  return broken_expectations(program, values) == 0 ? 0 : 1;
}

}  // namespace

std::function<int()> set_up_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>(app);
  app.footer("Example: centavo run step.mlir --input weights.npy --input 0.5 --output results");
  return [flags] { return run_run(*flags); };
}

}  // namespace centavo::cli
