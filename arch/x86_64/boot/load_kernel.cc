#include "arch/x86_64/boot/load_kernel.h"

#include <optional>

#include "arch/loader/file_kind.h"
#include "arch/x86_64/boot/bzimage.h"
#include "arch/x86_64/boot/pvh.h"

namespace skiff::x86_64 {

Result<KernelEntry> LoadKernel(const GuestMemory& memory, const Platform& platform, GuestAddr rsdp,
                               const BootConfig& boot) {
  const BootFile kernel = TRY(BootFile::Open("kernel", boot.kernel));
  const FileKind kind = TRY(IdentifyFile(kernel));
  if (kind != FileKind::kBzImage && kind != FileKind::kElf) {
    return NotAKernel(kernel, kind, "an x86-64 bzImage, or a vmlinux with PVH entry");
  }
  std::optional<BootFile> initrd_file;
  if (boot.initrd) initrd_file = TRY(BootFile::Open("initrd", *boot.initrd));
  const BootFile* initrd = initrd_file ? &*initrd_file : nullptr;
  const auto load = kind == FileKind::kBzImage ? LoadBzImage : LoadPvh;
  return load(memory, platform, rsdp, kernel, initrd, boot.command_line);
}

}  // namespace skiff::x86_64
