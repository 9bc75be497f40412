#pragma once

namespace skiff::tool {

// Texts on stdout; both return the exit status.
int PrintHelp();
int PrintVersion();

}  // namespace skiff::tool
