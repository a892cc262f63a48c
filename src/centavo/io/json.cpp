// Strict parsing: what the JSON standard leaves open (duplicate keys) is an error here.
#include "centavo/io/json.h"

#include <set>
#include <vector>

#include "centavo/base/error.h"

namespace centavo::io {

nlohmann::json parse_json(std::string_view text, std::string_view topic) {
  constexpr int kMaxDepth = 64;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  auto check = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (depth > kMaxDepth) throw Error(topic, "JSON nested deeper than {}", kMaxDepth);
    if (event == nlohmann::json::parse_event_t::object_start) keys.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) keys.pop_back();
    if (event == nlohmann::json::parse_event_t::key) {
      if (!keys.back().insert(parsed.get<std::string>()).second)
        throw Error(topic, "JSON key '{}' comes twice", parsed.get<std::string>());
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text.begin(), text.end(), check);
  } catch (const nlohmann::json::exception& error) {
    throw Error(topic, "bad JSON: {}", error.what());
  }
}

void JsonlWriter::append(const Json& object) {
  file_.append(object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
}

}  // namespace centavo::io
