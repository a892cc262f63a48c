// Options in TOML files, and the args.toml that a run leaves behind.
#include <gmock/gmock.h>

#include "tests/cli/program.h"
#include "tests/temp_dir.h"

namespace centavo {
namespace {

using testing::HasSubstr;

class Config : public testing::Test {
 protected:
  // Trains as `toml` and `arguments` say, into dir / "out".
  std::string command(const std::string& toml, const std::string& arguments = "") const {
    std::ofstream(dir_ / "c.toml") << toml;
    return "train -c " + (dir_ / "c.toml").string() + " --output " + (dir_ / "out").string() + " " +
           arguments;
  }
  TempDir dir_;
};

const std::string kToml = R"(
model = "mlp"
hidden = [8, 4]
dataset = "fake"
img_size = 8  # as timm's args.yaml spells it
in-chans = 1
num-classes = 5
batch-size = 4
max-steps = 2
epochs = 1
opt = "sgd"
momentum = 0.9
nesterov = true
lr = 1e-4
precision = "fp32"
threads = 1
)";

TEST_F(Config, TheCommandLineOverridesTheFile) {
  Outcome done = run(command(kToml, "--max-steps 3 --no-decay-1d"));
  ASSERT_EQ(done.code, 0) << done.out;
  EXPECT_THAT(done.out, HasSubstr("mlp (581 parameters)"));
  EXPECT_THAT(done.out, HasSubstr("Train: 0 [   3/3 (100%)]"));
  // Wherever it stands.
  const std::string file = (dir_ / "c.toml").string();
  EXPECT_THAT(run("train --max-steps 1 -c " + file + " --output " + (dir_ / "b").string()).out,
              HasSubstr("Train: 0 [   1/1 (100%)]"));
}

TEST_F(Config, ArgsTomlRepeatsTheRun) {
  ASSERT_EQ(run(command(kToml, "--max-steps 3 --no-decay-1d --seed 7")).code, 0);
  const std::string args = text_of(dir_ / "out" / "args.toml");
  for (const char* line :
       {"hidden = [8, 4]\n", "lr = 0.0001\n", "max-steps = 3\n", "no-decay-1d = true\n",
        "precision = \"fp32\"\n", "smoothing = 0\n", "no-aug = false\n"})
    EXPECT_THAT(args, HasSubstr(line));
  EXPECT_EQ(text_of(dir_ / "out" / "last" / "args.toml"), args);
  const Outcome again = run("train --config " + (dir_ / "out" / "args.toml").string() +
                            " --output " + (dir_ / "again").string());
  ASSERT_EQ(again.code, 0) << again.out;
  EXPECT_EQ(text_of(dir_ / "again" / "args.toml"), args);
  EXPECT_TRUE(text_of(dir_ / "again" / "model.safetensors") ==
              text_of(dir_ / "out" / "model.safetensors"));
}

TEST_F(Config, MistakesAreNamedWithTheirLine) {
  expect_failure(command("epocs = 3\n"), 2,
                 "[c.toml:1] unknown key 'epocs'; did you mean 'epochs'?");
  expect_failure(command("\nseed = -3\n"), 2,
                 "[c.toml:2] --seed: expects a number that is not neg");
  expect_failure(command("model = \"mpl\"\n"), 2, "[c.toml:1] --model: unknown model 'mpl'");
  expect_failure(command("no-aug = 3\n"), 2, "'no-aug' must be true or false");
  expect_failure(command("scale = [1, [2]]\n"), 2, "'scale' must be a value or a list of values");
  expect_failure(command("seed 3\n"), 2, "[c.toml:1:6] not valid TOML");
  expect_failure("train -c /nowhere.toml", 2, "/nowhere.toml");
}

}  // namespace
}  // namespace centavo
