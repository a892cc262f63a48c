// Modules and their functions.
#include "centavo/stablehlo/module_parser.h"

#include "centavo/stablehlo/attribute_parser.h"
#include "centavo/stablehlo/operation_parser.h"

namespace centavo::stablehlo {
namespace {

class ModuleParser {
 public:
  explicit ModuleParser(const Source& source) : scan_(source) {}

  Module parse() {
    skip_aliases();
    if (scan_.accept("module")) {
      if (scan_.accept("@")) skip_symbol();
      if (scan_.accept("attributes")) parse_dictionary(scan_, module_.attributes);
      scan_.expect("{");
      while (!scan_.accept("}")) function();
      skip_location(scan_);
    } else {
      while (!scan_.at_end() && !scan_.next_is('#')) function();
    }
    skip_aliases();
    if (!scan_.at_end()) scan_.fail("text behind the module");
    return std::move(module_);
  }

 private:
  std::string_view skip_symbol() {
    return scan_.next_is('"') ? scan_.raw_string() : scan_.suffix("a symbol's name");
  }

  // #loc1 = loc(...): names for places.
  void skip_aliases() {
    while (scan_.next_is('#')) {
      scan_.expect("#");
      scan_.suffix("an alias");
      scan_.expect("=");
      if (scan_.looking_at("loc")) {
        skip_location(scan_);
      } else {
        parse_attribute(scan_);
      }
    }
  }

  // func.func public @name(arguments) -> (types) attributes {...} { body }
  void function() {
    Function f;
    f.at = scan_.position();
    scan_.expect("func.func");
    for (const char* visibility : {"public", "private", "nested"}) {
      if (scan_.accept(visibility)) break;
    }
    scan_.expect("@");
    f.name = skip_symbol();
    const size_t behind_name = scan_.position();
    try {
      signature_and_body(f);
      module_.functions.push_back(std::move(f));
    } catch (const Unsupported& reason) {
      module_.unsupported.emplace(f.name, reason.what());
      scan_.move_to(behind_name);
      skip_function();
    }
  }

  void signature_and_body(Function& f) {
    f.arguments = parse_arguments(scan_);
    if (scan_.accept("->")) f.result_types = result_types();
    if (scan_.accept("attributes")) {
      Dictionary ignored;
      parse_dictionary(scan_, ignored);
    }
    f.body = parse_region(scan_);
    skip_location(scan_);
  }

  // (type {attributes}, ...) or one type
  std::vector<Type> result_types() {
    if (!scan_.accept("(")) return {parse_type(scan_)};
    std::vector<Type> types;
    while (!scan_.accept(")")) {
      types.push_back(parse_type(scan_));
      Dictionary ignored;
      if (scan_.next_is('{')) parse_dictionary(scan_, ignored);
      if (!scan_.accept(",") && !scan_.next_is(')')) scan_.expect(")");
    }
    return types;
  }

  // What signature_and_body could not read, bracket by bracket.
  void skip_function() {
    scan_.balanced();
    if (scan_.accept("->")) {
      if (scan_.next_is('(')) {
        scan_.balanced();
      } else {
        parse_type(scan_);
      }
    }
    if (scan_.accept("attributes")) scan_.balanced();
    if (scan_.next_is('{')) scan_.balanced();
    skip_location(scan_);
  }

  Scanner scan_;
  Module module_;
};

}  // namespace

Module parse_module(const Source& source) {
  return ModuleParser(source).parse();
}

}  // namespace centavo::stablehlo
