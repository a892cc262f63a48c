// Reads prices and instance types that users fetched from AWS or SkyPilot, and keeps them for later
// commands.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "centavo/fleet/catalogue.h"
#include "centavo/fleet/prices.h"

namespace centavo::fleet {

// What `aws ec2 describe-instance-types` says of a type.
struct TypeSpec {
  std::string name;
  int vcpus = 0, cores = 0;
  double memory_gib = 0;
  std::string chip;  // the accelerator's name, e.g. A10G; empty for none
  int chips = 0;
  double chip_memory_gib = 0;
  double network_gbps = 0;
  bool efa = false;
};

struct Imported {
  std::string format;  // what the file was taken for
  std::vector<Price> prices;
  std::vector<TypeSpec> types;
  int left_out = 0;  // rows of other operating systems, tenancies, units, or without a price
};

// Recognises the file by its content:
//   aws ec2 describe-instance-types            JSON
//   aws ec2 describe-spot-price-history        JSON (the newest price of each type and zone is
//   kept) aws pricing get-products, or an offer file JSON AWS price list offer file CSV SkyPilot's
//   vms.csv                         CSV
// `date` stands in where the file has none. Throws Error for a foreign or corrupt file, naming the
// entry.
Imported read_import(const std::filesystem::path& path, const std::string& date);

struct ImportSummary {
  size_t prices = 0, types = 0;
  std::vector<std::string>
      unknown;  // types with a price or spec that the shipped catalogue does not have
};
// Adds to prices.toml and instances.toml of `dir`; replaces what they hold of the same type,
// region, kind and date.
ImportSummary keep_import(const Imported& imported, const Catalogue& catalogue,
                          const std::filesystem::path& dir);

}  // namespace centavo::fleet
