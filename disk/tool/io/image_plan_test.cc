#include "disk/tool/io/image_plan.h"

#include <gtest/gtest.h>

namespace skiff::io {
namespace {

ImageRequest Named(const std::string& name) {
  ImageRequest request;
  request.name = name;
  return request;
}

ImageRequest WithOptions(std::string_view options) {
  ImageRequest request;
  request.options = ParseOptionString(options);
  return request;
}

std::string ErrorOf(const ImageRequest& request) {
  const Result<ImagePlan> plan = MakePlan(request);
  return plan.ok() ? "" : plan.error().message();
}

TEST(ParseOptionString, PartsAtSingleCommas) {
  EXPECT_EQ(ParseOptionString("driver=raw,file.filename=a,,b,read-only"),
            (BlockOptions{{"driver", "raw"}, {"file.filename", "a,b"}, {"read-only", "on"}}));
  EXPECT_EQ(ParseOptionString(""), BlockOptions());
  EXPECT_EQ(ParseOptionString("a=b=c"), (BlockOptions{{"a", "b=c"}}));
}

TEST(ParseImageName, FlattensJson) {
  const BlockOptions expected{
      {"driver", "qcow2"}, {"file.driver", "file"}, {"file.filename", "it's"}, {"read-only", "on"}};
  for (const char* const name :
       {R"(json:{"driver":"qcow2","file":{"driver":"file","filename":"it's"},"read-only":true})",
        R"(json:{'driver':'qcow2','file.driver':'file','file.filename':'it\'s','read-only':true})"})
    EXPECT_EQ(ParseImageName(name).value(), expected) << name;
}

TEST(ParseImageName, RefusesWhatIsNoJsonObject) {
  for (const std::string& text :
       {std::string(), std::string("{foo"), std::string("[1]"), std::string("{'a':1} x"),
        std::string(100000, '['), std::string("{'a':'")})
    EXPECT_FALSE(ParseImageName("json:" + text).ok()) << text.substr(0, 20);
  std::string deep = "1";
  for (int i = 0; i < 1000; ++i) deep = "{'a':" + deep + "}";
  EXPECT_FALSE(ParseImageName("json:" + deep).ok());
}

TEST(ParseImageName, KnowsOnlyFiles) {
  EXPECT_EQ(ParseImageName("file:x").value(), (BlockOptions{{"file.filename", "x"}}));
  EXPECT_EQ(ParseImageName("./a:b").value(), (BlockOptions{{"file.filename", "./a:b"}}));
  EXPECT_EQ(ParseImageName("zork:x").error().message(), "Unknown protocol 'zork'");
}

TEST(MakePlan, TakesEachWayToNameAFile) {
  for (const ImageRequest& request :
       {Named("x"), Named("file:x"), Named("json:{'file':{'filename':'x'}}"),
        WithOptions("file.driver=file,file.filename=x"), WithOptions("driver=file,filename=x"),
        WithOptions("driver=qcow2,file.filename=x,l2-cache-size=1M,overlap-check.template=all")}) {
    const Result<ImagePlan> plan = MakePlan(request);
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    EXPECT_EQ(plan->options.path, "x");
  }
}

TEST(MakePlan, LetsOptionsWinOverTheName) {
  ImageRequest request = Named("json:{'driver':'raw','file.filename':'x'}");
  request.options["driver"] = "qcow2";
  EXPECT_EQ(MakePlan(request)->options.format, ImageFormat::kQcow2);
}

TEST(MakePlan, PutsCacheOptionsTogether) {
  EXPECT_EQ(MakePlan(WithOptions("driver=file,filename=x,cache.direct=on"))->options.cache,
            CacheMode::kNone);
  EXPECT_EQ(MakePlan(WithOptions("driver=file,filename=x,cache.no-flush=on"))->options.cache,
            CacheMode::kUnsafe);
  ImageRequest through = WithOptions("driver=file,filename=x,cache.direct=off");
  through.cache = CacheMode::kDirectsync;
  EXPECT_EQ(MakePlan(through)->options.cache, CacheMode::kWritethrough);
}

TEST(MakePlan, TellsWhatIsWrong) {
  EXPECT_EQ(ErrorOf(WithOptions("a.raw")), "Must specify either driver or file");
  EXPECT_EQ(ErrorOf(WithOptions("driver=qcow2")), "A block device must be specified for \"file\"");
  EXPECT_EQ(ErrorOf(WithOptions("driver=x,file.filename=x")), "Unknown driver 'x'");
  EXPECT_EQ(ErrorOf(WithOptions("driver=raw,file.filename=x,foo=1")),
            "Block format 'raw' does not support the option 'foo'");
  EXPECT_EQ(ErrorOf(WithOptions("driver=raw,file.filename=x,file.foo=1")),
            "Block protocol 'file' doesn't support the option 'foo'");
  EXPECT_EQ(ErrorOf(WithOptions("driver=file,filename=x,cache.direct=1")),
            "Parameter 'cache.direct' expects 'on' or 'off'");
  EXPECT_EQ(ErrorOf(WithOptions("driver=file,filename=x,read-only=on")), "Block node is read-only");
  EXPECT_EQ(ErrorOf(WithOptions("driver=file,filename=x,force-share=on")),
            "force-share=on can only be used with read-only images");
}

TEST(CanChange, IsFalseForWhatAnImageIs) {
  EXPECT_TRUE(CanChange("cache.direct"));
  EXPECT_TRUE(CanChange("lazy-refcounts"));
  EXPECT_FALSE(CanChange("driver"));
  EXPECT_FALSE(CanChange("file.filename"));
  EXPECT_FALSE(CanChange("foo"));
}

}  // namespace
}  // namespace skiff::io
