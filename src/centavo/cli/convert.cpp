// centavo convert: images from one kind of storage to another.
#include "centavo/data/convert.h"

#include "centavo/base/text.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/options.h"
#include "centavo/cli/progress.h"

namespace centavo::cli {
namespace {

struct ConvertFlags {
  std::string from, to, split = "all";
  data::ConvertOptions options;
};

int run_convert(ConvertFlags& f) {
  ProgressBar bar(on_terminal());
  for (const auto& [name, split] :
       {std::pair{"train", data::Split::kTrain}, std::pair{"val", data::Split::kEval}}) {
    if (f.split != "all" && f.split != name) continue;
    f.options.split = split;
    f.options.on_image = [&, name = name](int64_t done, int64_t total) {
      bar.update(name, done, total);
    };
    const int64_t images = data::convert(f.from, f.to, f.options);
    bar.clear();
    fmt::print("{}: {} images\n", name, with_thousands(images));
  }
  fmt::print("pass --dataset {}\n", f.to);
  return 0;
}

}  // namespace

std::function<int()> set_up_convert(CLI::App& app) {
  auto f = std::make_shared<ConvertFlags>();
  app.add_option("FROM", f->from, "folder:DIR, idx:DIR or shards:PATTERN")
      ->required()
      ->type_name("FROM");
  app.add_option("TO", f->to, "folder:DIR, shards:DIR or idx:DIR (grey images of one size)")
      ->required()
      ->type_name("TO");
  add_value(app, "Data", "--split", f->split, "NAME", "train, val or all")
      ->check(known_name("split", {"train", "val", "all"}));
  add_value(app, "Data", "--shard-size", f->options.shard_size, "N", "Images in a shard")
      ->check(positive());
  app.add_option("--num-classes", f->options.num_classes, "Classes, where idx files have not ten")
      ->check(positive())
      ->type_name("N")
      ->group("Data");
  app.footer("Example: centavo convert folder:/data/pets shards:/data/pets-shards");
  return [f] { return run_convert(*f); };
}

}  // namespace centavo::cli
