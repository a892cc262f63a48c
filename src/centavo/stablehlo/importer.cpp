// The walk over functions, and the reading of attributes.
#include "centavo/stablehlo/importer.h"

#include <algorithm>
#include <utility>

#include "centavo/ops/movement.h"
#include "centavo/stablehlo/dense.h"

namespace centavo::stablehlo {
namespace {

constexpr int kMaxCalls = 64;

bool is_return(std::string_view name) {
  return name == "func.return" || name == "stablehlo.return" || name == "return";
}

}  // namespace

const TensorType& Importer::type_of(const Type& type) const {
  if (!type.tensor) source_.unsupported(type.at, "type {}", type.text);
  return *type.tensor;
}

const Function& Importer::function(std::string_view name, size_t at) const {
  for (const Function& f : module_.functions) {
    if (f.name == name) return f;
  }
  if (auto known = module_.unsupported.find(name); known != module_.unsupported.end())
    throw Unsupported(known->second);
  source_.fail(at, "there is no function @{}", name);
}

bool Importer::fits(const Type& declared, const Tensor& value) const {
  if (!lanes_) return type_of(declared) == value.type();
  return type_of(declared) == TensorType{value.dtype(), {}};
}

void Importer::check_types(const Operation& op, std::span<const Type> declared,
                           const Tensors& values, std::string_view what) const {
  if (declared.size() != values.size()) {
    source_.fail(op.at, "{} has {} {}(s), but its type says {}", op.name, values.size(), what,
                 declared.size());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (fits(declared[i], values[i])) continue;
    source_.fail(op.at, "{}: {} {} is {}, but its type says {}", op.name, what, i,
                 to_string(values[i].type()), to_string(*declared[i].tensor));
  }
}

Tensors Importer::lookup(const Operation& op, const Scope& scope) const {
  Tensors values;
  for (const ValueName& operand : op.operands) {
    const Tensors* found = scope.find(operand.name);
    if (!found) source_.fail(operand.at, "%{} is not defined before its use", operand.name);
    if (operand.index < 0 || operand.index >= static_cast<int64_t>(found->size())) {
      source_.fail(operand.at, "%{} has {} value(s), there is no #{}", operand.name, found->size(),
                   operand.index);
    }
    const Tensor& value = (*found)[static_cast<size_t>(operand.index)];
    values.push_back(lanes_ && value.rank() == 0 ? broadcast_to(value, *lanes_) : value);
  }
  return values;
}

// Errors of the ops' own rules get the place of the operation.
Tensors Importer::run(const Operation& op, Tensors operands, const Scope& scope) {
  constexpr int64_t kMostOperations = 1 << 20;
  if (++operations_ > kMostOperations)
    source_.unsupported(op.at, "loops and calls that unroll to {} operations", kMostOperations);
  const OpEntry entry = find_importer(op.name);
  if (!entry.import) source_.unsupported(op.at, "{}", op.name);
  if (lanes_ && !entry.elementwise && op.name != "stablehlo.constant")
    source_.unsupported(op.at, "{} in a region of scalars", op.name);
  try {
    return entry.import(OpReader(*this, op, std::move(operands), scope));
  } catch (const ModuleError&) {
    throw;
  } catch (const Error& error) {
    source_.fail(op.at, "{}", error.what());
  }
}

Tensors Importer::run_body(const std::vector<Operation>& body, Scope& scope, size_t at) {
  for (const Operation& op : body) {
    Tensors operands = lookup(op, scope);
    if (!op.operand_types.empty()) check_types(op, op.operand_types, operands, "operand");
    if (is_return(op.name)) {
      if (&op != &body.back()) source_.fail(op.at, "a return before the end");
      return operands;
    }
    Tensors results = run(op, std::move(operands), scope);
    if (lanes_) {
      for (Tensor& result : results) result = broadcast_to(result, *lanes_);
    }
    check_types(op, op.result_types, results, "result");
    auto next = results.begin();
    for (const ResultName& name : op.results) {
      const auto end = next + name.count;
      if (!scope.define(name.name, Tensors(next, end)))
        source_.fail(op.at, "%{} is defined twice", name.name);
      next = end;
    }
  }
  source_.fail(at, "a body without a return at its end");
}

void Importer::define_arguments(const std::vector<Argument>& parameters, const Tensors& arguments,
                                Scope& scope, size_t at) const {
  if (arguments.size() != parameters.size())
    source_.fail(at, "expected {} argument(s), got {}", parameters.size(), arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& parameter = parameters[i];
    if (!fits(parameter.type, arguments[i])) {
      source_.fail(at, "argument {} is {}, got {}", i, to_string(*parameter.type.tensor),
                   to_string(arguments[i].type()));
    }
    if (!scope.define(parameter.name, {arguments[i]}))
      source_.fail(parameter.type.at, "%{} is defined twice", parameter.name);
  }
}

Tensors Importer::run_region(const Region& region, const Tensors& arguments, const Scope& outer,
                             size_t at, const Shape* lanes) {
  if (lanes && lanes_) source_.unsupported(at, "regions of scalars in one another");
  const Shape* around = std::exchange(lanes_, lanes ? lanes : lanes_);
  Scope scope(&outer);
  define_arguments(region.arguments, arguments, scope, at);
  Tensors results = run_body(region.body, scope, at);
  lanes_ = around;
  return results;
}

Tensors Importer::call(const Function& f, const Tensors& arguments, size_t at) {
  if (depth_ >= kMaxCalls) source_.fail(at, "calls nested more than {} deep", kMaxCalls);
  Scope scope;
  define_arguments(f.arguments, arguments, scope, at);
  ++depth_;
  Tensors results = run_body(f.body.body, scope, f.at);
  --depth_;
  if (results.size() != f.result_types.size()) {
    source_.fail(f.at, "@{} returns {} value(s), but its type says {}", f.name, results.size(),
                 f.result_types.size());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].type() != type_of(f.result_types[i])) {
      source_.fail(f.result_types[i].at, "@{} returns {} here, but its type says {}", f.name,
                   to_string(results[i].type()), to_string(*f.result_types[i].tensor));
    }
  }
  return results;
}

const Tensor& OpReader::operand(size_t i) const {
  if (i >= operands.size()) fail("expects more than {} operand(s)", operands.size());
  return operands[i];
}

const TensorType& OpReader::result_type(size_t i) const {
  if (i >= op.result_types.size()) fail("expects more than {} result(s)", op.result_types.size());
  return importer.type_of(op.result_types[i]);
}

const Region& OpReader::region(size_t i) const {
  if (i >= op.regions.size()) fail("expects more than {} region(s)", op.regions.size());
  return op.regions[i];
}

Tensors OpReader::run_region(size_t i, const Tensors& arguments) const {
  return importer.run_region(region(i), arguments, scope_, op.at);
}

Tensors OpReader::map_region(size_t i, const Tensors& arguments) const {
  const Shape lanes = arguments.at(0).shape();
  return importer.run_region(region(i), arguments, scope_, op.at, &lanes);
}

void OpReader::expect_operands(size_t count) const {
  if (operands.size() != count) fail("expects {} operand(s), got {}", count, operands.size());
}

bool OpReader::has(std::string_view name) const {
  return op.attributes.contains(name);
}

const Attribute& OpReader::attribute(std::string_view name) const {
  auto at = op.attributes.find(name);
  if (at == op.attributes.end()) fail("needs the attribute '{}'", name);
  return at->second;
}

int64_t OpReader::integer(std::string_view name) const {
  return integer_of(op.attributes, name);
}
int64_t OpReader::integer(std::string_view name, int64_t fallback) const {
  return has(name) ? integer(name) : fallback;
}
int64_t OpReader::integer_of(const Dictionary& entries, std::string_view name) const {
  auto at = entries.find(name);
  if (at == entries.end()) fail("needs the attribute '{}'", name);
  const auto* value = std::get_if<int64_t>(&at->second.value);
  if (!value) importer.source().fail(at->second.at, "'{}' must be an integer", name);
  return *value;
}

std::string_view OpReader::keyword(std::string_view name) const {
  const Attribute& a = attribute(name);
  const auto* value = std::get_if<Keyword>(&a.value);
  if (!value) importer.source().fail(a.at, "'{}' must be one of StableHLO's keywords", name);
  return value->text;
}

const Dictionary& OpReader::dictionary(std::string_view name) const {
  const Attribute& a = attribute(name);
  const auto* value = std::get_if<Dictionary>(&a.value);
  if (!value) importer.source().fail(a.at, "'{}' must be a group of values", name);
  return *value;
}

Ints OpReader::to_ints(const Attribute& a, std::string_view name) const {
  constexpr int64_t kMost = int64_t{1} << 31;
  Ints values;
  if (const auto* list = std::get_if<Ints>(&a.value)) {
    values = *list;
  } else if (const auto* dense = std::get_if<DenseText>(&a.value)) {
    values = decode_integers(importer.source(), *dense);
  } else if (const auto* rows = std::get_if<AttributeList>(&a.value)) {
    // Lists of lists follow one another; truth values are 0 and 1.
    for (const Attribute& row : *rows) {
      const auto* flag = std::get_if<bool>(&row.value);
      const Ints part = flag ? Ints{*flag} : to_ints(row, name);
      values.insert(values.end(), part.begin(), part.end());
    }
  } else {
    importer.source().fail(a.at, "'{}' must be a list of integers", name);
  }
  if (std::any_of(values.begin(), values.end(), [](int64_t v) { return v < -kMost || v > kMost; }))
    importer.source().fail(a.at, "'{}' has a value beyond 2^31", name);
  return values;
}

Ints OpReader::ints(std::string_view name) const {
  return to_ints(attribute(name), name);
}
Ints OpReader::ints(std::string_view name, size_t count, int64_t fallback) const {
  if (!has(name)) return Ints(count, fallback);
  Ints values = ints(name);
  if (values.size() != count) fail("'{}' has {} value(s), not {}", name, values.size(), count);
  return values;
}
Ints OpReader::ints_of(const Dictionary& entries, std::string_view name) const {
  auto at = entries.find(name);
  return at == entries.end() ? Ints() : to_ints(at->second, name);
}

std::pair<Ints, Ints> OpReader::padding(size_t count) const {
  const Ints flat = ints("padding", 2 * count, 0);
  Ints low, high;
  for (size_t d = 0; d < count; ++d) {
    low.push_back(flat[2 * d]);
    high.push_back(flat[2 * d + 1]);
  }
  return {low, high};
}

void OpReader::fail_with(const std::string& reason) const {
  importer.source().fail(op.at, "{}: {}", op.name, reason);
}
void OpReader::unsupported_with(const std::string& reason) const {
  importer.source().unsupported(op.at, "{}: {}", op.name, reason);
}

namespace {

// Outputs whose memory is an argument's, by tf.aliasing_output.
std::vector<int> aliases_of(const Source& source, const Function& f, const Graph& graph) {
  std::vector<int> aliases(graph.outputs.size(), -1);
  for (size_t i = 0; i < f.arguments.size(); ++i) {
    auto attribute = f.arguments[i].attributes.find("tf.aliasing_output");
    if (attribute == f.arguments[i].attributes.end()) continue;
    const auto* output = std::get_if<int64_t>(&attribute->second.value);
    if (!output || *output < 0 || *output >= static_cast<int64_t>(aliases.size()))
      source.fail(attribute->second.at, "tf.aliasing_output names no output");
    auto at = static_cast<size_t>(*output);
    if (aliases[at] >= 0) source.fail(attribute->second.at, "output {} has two aliases", at);
    if (graph.outputs[at].type() != graph.inputs[i].type())
      source.fail(attribute->second.at, "output {} is {}, not of its alias's type", at,
                  to_string(graph.outputs[at].type()));
    aliases[at] = static_cast<int>(i);
  }
  return aliases;
}

}  // namespace

Program parse_program(std::string_view text, const std::string& name, std::string_view function) {
  const Source source{text, name};
  const Module module = parse_module(source);
  Importer importer(source, module);
  const Function& entry = importer.function(function, text.size());
  Tensors inputs;
  for (const Argument& argument : entry.arguments)
    inputs.push_back(make_input(importer.type_of(argument.type)));
  Tensors outputs = importer.call(entry, inputs, entry.at);
  Program program;
  program.results = outputs.size();
  program.expectations = importer.expectations();
  for (const Expectation& e : program.expectations) {
    outputs.push_back(e.actual);
    outputs.push_back(e.expected);
  }
  program.graph = build_graph(inputs, outputs);
  program.graph.aliases = aliases_of(source, entry, program.graph);
  return program;
}

Graph parse(std::string_view text, const std::string& name) {
  return parse_program(text, name).graph;
}

}  // namespace centavo::stablehlo
