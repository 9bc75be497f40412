#pragma once

namespace skiff::tool {

// Subcommands of skiff-img, with qemu-img's options, texts and exit statuses. argv[0] is the
// subcommand's name. Each returns the exit status.
int BenchCommand(int argc, char** argv);
int CheckCommand(int argc, char** argv);
int CreateCommand(int argc, char** argv);
int InfoCommand(int argc, char** argv);
int ResizeCommand(int argc, char** argv);
int SnapshotCommand(int argc, char** argv);

}  // namespace skiff::tool
