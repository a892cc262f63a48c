// centavo devices: what can train here.
#include "centavo/cli/commands.h"
#include "centavo/cli/options.h"
#include "centavo/cli/table.h"
#include "centavo/io/json.h"

namespace centavo::cli {

std::function<int()> set_up_devices(CLI::App& app) {
  auto format = std::make_shared<Format>(Format::kTable);
  add_format(app, *format);
  return [format] {
    Table table({{"DEVICE"}, {"DESCRIPTION"}});
    io::Json json = io::Json::array();
    for (const std::string& name : device_names()) {
      std::string description = open_device(name)->description();
      table.add({name, description});
      json.push_back({{"device", name}, {"description", description}});
    }
    fmt::print("{}", *format == Format::kJson ? json.dump(2) + "\n" : table.to_string());
    return 0;
  };
}

}  // namespace centavo::cli
