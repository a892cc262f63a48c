// Recognises a file and hands it to its reader (import_json.cpp, import_csv.cpp).
#include "centavo/fleet/import.h"

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/import_readers.h"
#include "centavo/io/file.h"

namespace centavo::fleet {

Imported read_import(const std::filesystem::path& path, const std::string& date) {
  const std::string text = io::read_file(path);
  const std::string name = path.filename().string();
  const std::string_view start = trim(std::string_view(text).substr(0, 4096));
  if (start.starts_with("{")) return import_json(text, name, date);
  if (start.starts_with("\"FormatVersion\"")) return import_offer_csv(text, name);
  if (start.substr(0, start.find('\n')).find("InstanceType") != start.npos)
    return import_skypilot(text, name, date);
  throw Error(
      name,
      "not a file that Centavo can import; it reads the JSON of `aws ec2 describe-instance-types`, "
      "`aws ec2 describe-spot-price-history` and `aws pricing get-products`, AWS price list offer "
      "files "
      "(JSON or CSV) and SkyPilot's vms.csv");
}

}  // namespace centavo::fleet
