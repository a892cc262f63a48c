// Dated prices of instance types, and the choice of the one that a comparison asks for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "centavo/fleet/catalogue.h"

namespace centavo::fleet {

enum class PriceKind { kOnDemand, kSpot, kReserved };
std::string_view name_of(PriceKind kind);               // on-demand, spot, reserved
PriceKind price_kind_from_name(std::string_view name);  // throws Error with the nearest name

struct Price {
  std::string instance;
  double usd_per_hour = 0;
  PriceKind kind = PriceKind::kOnDemand;
  std::string region;  // us-east-1
  std::string zone;    // us-east-1a for some spot prices, else empty
  Source source;       // with the date at which the price held
  bool weak = false;   // from one secondary source only
};

// Which price a user wants.
struct PriceChoice {
  PriceKind kind = PriceKind::kOnDemand;
  std::string date;  // at or before the end of this YYYY, YYYY-MM or YYYY-MM-DD; "": the newest
  std::string region =
      "us-east-1";  // preferred; another region's price is used only if this one has none
};
// "spot", "reserved", "on-demand", or a date such as "2023" or "2023-08" for on-demand prices of
// that time. Throws Error naming these forms.
PriceChoice price_choice_from_text(std::string_view text);

class PriceBook {
 public:
  // Reads prices.toml from `dir`; by default from data_dir() and then the user's imports from
  // user_dir().
  static PriceBook load(const std::filesystem::path& dir);
  static PriceBook load();

  void add(Price price) { prices_.push_back(std::move(price)); }
  const std::vector<Price>& all() const { return prices_; }

  // The price of the latest date within the choice, the preferred region first; of several zones
  // the cheapest. nullptr when there is none: a price is never guessed.
  const Price* find(std::string_view instance, const PriceChoice& choice) const;
  // The oldest known price of that kind, or nullptr.
  const Price* earliest(std::string_view instance, PriceKind kind) const;

 private:
  std::vector<Price> prices_;
};

}  // namespace centavo::fleet
