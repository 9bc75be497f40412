#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace skiff::tool {

// The name that the program was called by, without its folder: messages start with it, so that
// filters made for qemu-img work when it is called so.
void SetProgramName(const char* argv0);
const std::string& ProgramName();

// "NAME: MESSAGE" on stderr, after what stdout has so far.
void PrintError(std::string_view message);
// The same, and the exit status 1.
int Fail(std::string_view message);
// For wrong command lines: also names --help.
int FailUsage(std::string_view message);

// Writes all that is buffered for stdout. False: it is lost.
bool FlushOutput();

// The message of an error, with the system's own words alone if it is one of the system's.
std::string Words(const Error& error);

}  // namespace skiff::tool
