#include "disk/tool/io/session.h"

namespace skiff::io {

Result<void> OpenAndTell(Session& session, const ImageRequest& request) {
  Result<OpenImage> image = Open(request);
  if (!image.ok()) {
    const std::string device = request.name ? " device " + *request.name : "";
    session.Complain("can't open" + device + ": " + image.error().message());
    return AlreadyTold();
  }
  session.image = std::move(image).value();
  return {};
}

Result<void> CloseAndTell(Session& session) {
  if (!session.image) return {};
  const Result<void> closed = session.image->disk->Close();
  if (!closed.ok()) session.Complain("closing the image: " + closed.error().message());
  session.image.reset();
  return closed.ok() ? Result<void>() : AlreadyTold();
}

}  // namespace skiff::io
