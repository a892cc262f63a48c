// What the AWS command line prints, and price list offer files in JSON.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/import_readers.h"
#include "centavo/io/json.h"

namespace centavo::fleet {
namespace {

using Json = nlohmann::json;

// The member of an object, of the given type; throws Error naming the entry.
template <class T>
T member(const Json& object, const char* key, const std::string& where) {
  auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) throw Error(where, "'{}' is missing", key);
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    throw Error(where, "'{}' has the wrong type", key);
  }
}

const Json& part(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNone;
}

std::string text_or_empty(const Json& object, const char* key) {
  const Json& value = part(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

// GpuInfo.Gpus, NeuronInfo.NeuronDevices or InferenceAcceleratorInfo.Accelerators: the first kind
// counts.
void read_chips(TypeSpec& spec, const Json& entry, const std::string& where) {
  for (const auto& [group, list] :
       {std::pair{"GpuInfo", "Gpus"}, std::pair{"NeuronInfo", "NeuronDevices"},
        std::pair{"InferenceAcceleratorInfo", "Accelerators"}}) {
    const Json& devices = part(part(entry, group), list);
    if (!devices.is_array() || devices.empty()) continue;
    const Json& device = devices.front();
    spec.chip = member<std::string>(device, "Name", where);
    spec.chips = member<int>(device, "Count", where);
    const Json& memory = part(part(device, "MemoryInfo"), "SizeInMiB");
    if (memory.is_number()) spec.chip_memory_gib = memory.get<double>() / 1024;
    return;
  }
}

// The sustained bandwidth of all cards together.
double network_gbps(const Json& network) {
  double sum = 0;
  for (const Json& card : part(network, "NetworkCards")) {
    const Json& baseline = part(card, "BaselineBandwidthInGbps");
    if (baseline.is_number()) sum += baseline.get<double>();
  }
  return sum;
}

Imported import_types(const Json& root, const std::string& name) {
  Imported result;
  result.format = "aws ec2 describe-instance-types";
  const Json& entries = root["InstanceTypes"];
  if (!entries.is_array()) throw Error(name, "'InstanceTypes' is not a list");
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string where = fmt::format("{} InstanceTypes[{}]", name, i);
    const Json& entry = entries[i];
    TypeSpec spec;
    spec.name = member<std::string>(entry, "InstanceType", where);
    spec.vcpus = member<int>(part(entry, "VCpuInfo"), "DefaultVCpus", where);
    const Json& cores = part(part(entry, "VCpuInfo"), "DefaultCores");
    spec.cores = cores.is_number_integer() ? cores.get<int>() : spec.vcpus;
    spec.memory_gib = member<double>(part(entry, "MemoryInfo"), "SizeInMiB", where) / 1024;
    if (spec.vcpus < 1 || spec.cores < 1 || spec.cores > spec.vcpus || !(spec.memory_gib > 0))
      throw Error(where, "{} has impossible figures: {} vCPUs, {} cores, {} GiB", spec.name,
                  spec.vcpus, spec.cores, spec.memory_gib);
    read_chips(spec, entry, where);
    const Json& network = part(entry, "NetworkInfo");
    spec.network_gbps = network_gbps(network);
    const Json& efa = part(network, "EfaSupported");
    spec.efa = efa.is_boolean() && efa.get<bool>();
    result.types.push_back(std::move(spec));
  }
  return result;
}

Imported import_spot(const Json& root, const std::string& name) {
  Imported result;
  result.format = "aws ec2 describe-spot-price-history";
  const Json& entries = root["SpotPriceHistory"];
  if (!entries.is_array()) throw Error(name, "'SpotPriceHistory' is not a list");
  std::map<std::pair<std::string, std::string>, std::pair<std::string, Price>>
      newest;  // by type and zone
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string where = fmt::format("{} SpotPriceHistory[{}]", name, i);
    const Json& entry = entries[i];
    const std::string product = text_or_empty(entry, "ProductDescription");
    if (!product.empty() && !product.starts_with("Linux/UNIX")) {
      ++result.left_out;
      continue;
    }
    Price price;
    price.kind = PriceKind::kSpot;
    price.instance = member<std::string>(entry, "InstanceType", where);
    price.zone = member<std::string>(entry, "AvailabilityZone", where);
    price.region = region_of_zone(price.zone);
    price.usd_per_hour = parse_price(member<std::string>(entry, "SpotPrice", where), where);
    const std::string time = member<std::string>(entry, "Timestamp", where);
    price.source = {result.format, date_of(time, where)};
    auto& kept = newest[{price.instance, price.zone}];
    if (time >= kept.first) kept = {time, std::move(price)};
  }
  for (auto& [key, value] : newest) result.prices.push_back(std::move(value.second));
  return result;
}

// The US dollar prices per hour of one term, and the product's attributes.
void add_product(Imported& result, const Json& attributes, const Json& terms, const Source& source,
                 const std::string& where) {
  for (const Json& term : terms)
    for (const Json& dimension : part(term, "priceDimensions")) {
      OfferRow row;
      row.type = text_or_empty(attributes, "instanceType");
      row.region = text_or_empty(attributes, "regionCode");
      if (row.region.empty()) row.region = text_or_empty(attributes, "location");
      row.system = text_or_empty(attributes, "operatingSystem");
      row.tenancy = text_or_empty(attributes, "tenancy");
      row.software = text_or_empty(attributes, "preInstalledSw");
      row.capacity = text_or_empty(attributes, "capacitystatus");
      row.unit = text_or_empty(dimension, "unit");
      row.price = text_or_empty(part(dimension, "pricePerUnit"), "USD");
      add_offer(result, row, source, where);
    }
}

Imported import_offer_json(const Json& root, const std::string& name) {
  Imported result;
  result.format = "AWS price list offer file (JSON)";
  const Source source = {"AWS price list, version " + text_or_empty(root, "version"),
                         date_of(member<std::string>(root, "publicationDate", name), name)};
  const Json& terms = part(part(root, "terms"), "OnDemand");
  for (const auto& [sku, product] : root["products"].items()) {
    auto found = terms.find(sku);
    if (found == terms.end() || text_or_empty(part(product, "attributes"), "instanceType").empty())
      continue;
    add_product(result, part(product, "attributes"), *found, source, name + " " + sku);
  }
  return result;
}

Imported import_get_products(const Json& root, const std::string& name) {
  Imported result;
  result.format = "aws pricing get-products";
  const Json& entries = root["PriceList"];
  if (!entries.is_array()) throw Error(name, "'PriceList' is not a list");
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string where = fmt::format("{} PriceList[{}]", name, i);
    // Each entry is JSON in a text of its own.
    const Json entry =
        entries[i].is_string() ? io::parse_json(entries[i].get<std::string>(), where) : entries[i];
    const Source source = {"AWS price list, version " + text_or_empty(entry, "version"),
                           date_of(member<std::string>(entry, "publicationDate", where), where)};
    add_product(result, part(part(entry, "product"), "attributes"),
                part(part(entry, "terms"), "OnDemand"), source, where);
  }
  return result;
}

}  // namespace

Imported import_json(const std::string& text, const std::string& name, const std::string&) {
  const Json root = io::parse_json(text, name);
  if (root.contains("InstanceTypes")) return import_types(root, name);
  if (root.contains("SpotPriceHistory")) return import_spot(root, name);
  if (root.contains("PriceList")) return import_get_products(root, name);
  if (root.contains("products") && root.contains("terms")) return import_offer_json(root, name);
  throw Error(name,
              "JSON, but none that Centavo imports: it has no InstanceTypes, SpotPriceHistory, "
              "PriceList, or "
              "products and terms");
}

double parse_price(std::string_view text, const std::string& where) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0)
    throw Error(where, "'{}' is not a price", text);
  return value;
}

std::string region_of_zone(std::string_view zone) {
  while (!zone.empty() && zone.back() >= 'a' && zone.back() <= 'z') zone.remove_suffix(1);
  return std::string(zone);
}

std::string date_of(std::string_view timestamp, const std::string& where) {
  static constexpr std::string_view kForm = "dddd-dd-dd";
  bool good = timestamp.size() >= kForm.size();
  for (size_t i = 0; good && i < kForm.size(); ++i)
    good = kForm[i] == '-' ? timestamp[i] == '-' : timestamp[i] >= '0' && timestamp[i] <= '9';
  if (!good) throw Error(where, "'{}' does not start with a date", timestamp);
  return std::string(timestamp.substr(0, kForm.size()));
}

void add_offer(Imported& result, const OfferRow& row, const Source& source,
               const std::string& where) {
  const auto is = [](const std::string& value, std::string_view wanted) {
    return value.empty() || value == wanted;
  };
  if (row.type.empty() || !is(row.system, "Linux") || !is(row.tenancy, "Shared") ||
      !is(row.software, "NA") || !is(row.capacity, "Used") || row.unit != "Hrs" ||
      row.price.empty()) {
    ++result.left_out;
    return;
  }
  const double usd = parse_price(row.price, where);
  if (usd == 0) {  // reservations already paid for
    ++result.left_out;
    return;
  }
  result.prices.push_back({row.type, usd, PriceKind::kOnDemand, row.region, "", source, false});
}

}  // namespace centavo::fleet
