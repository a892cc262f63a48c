// The readers behind read_import(), and what they share.
#pragma once

#include <string>
#include <string_view>

#include "centavo/fleet/import.h"

namespace centavo::fleet {

Imported import_json(const std::string& text, const std::string& name, const std::string& date);
Imported import_offer_csv(const std::string& text, const std::string& name);
Imported import_skypilot(const std::string& text, const std::string& name, const std::string& date);

// A price per hour; throws Error naming `where` unless it is a finite number of at least 0.
double parse_price(std::string_view text, const std::string& where);
// "us-east-1" of "us-east-1a".
std::string region_of_zone(std::string_view zone);
// "2026-11-30" of "2026-11-30T12:00:00+00:00"; throws Error naming `where` when it does not start
// with a date.
std::string date_of(std::string_view timestamp, const std::string& where);

// One row of an AWS price list.
struct OfferRow {
  std::string type, region, system, tenancy, software, capacity, unit, price;
};
// Adds the row if it is the plain on-demand price of a Linux machine, else counts it as left out.
void add_offer(Imported& result, const OfferRow& row, const Source& source,
               const std::string& where);

}  // namespace centavo::fleet
