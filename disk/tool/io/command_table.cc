#include <array>

#include "disk/tool/io/command.h"

namespace skiff::io {
namespace {

constexpr const char* kReadDetails = R"(
 -P BYTE  fail unless all that is read is BYTE; -s OFF and -l LEN, counted from
          the offset, limit that to a part of it
 -v       dump what is read
 -b       read the VM state instead of the disk
 -C, -q   statistics for machines, no statistics
 -p       accepted, does nothing

 Example: 'read -P 0xcd -s 512 -l 1k 0 64k'

)";

constexpr const char* kReadVectorDetails = R"(
 Each length is a buffer of its own. -P BYTE, -v, -C and -q are as for 'read'.

 Example: 'readv -v 512 1k 1k'

)";

constexpr const char* kWriteDetails = R"(
 -P BYTE  write BYTE (default: 0xcd); -s FILE writes what is in FILE, over and over
 -z       write zeroes without sending any; with -u the room may be given back,
          with -n fail rather than write them out
 -f       durable when it completes (FUA)
 -c       write a compressed cluster
 -b       write to the VM state instead of the disk
 -C, -q   statistics for machines, no statistics
 -p       accepted, does nothing

 Example: 'write -P 0x41 512 1k'

)";

constexpr const char* kWriteVectorDetails = R"(
 Each length is a buffer of its own. -P BYTE, -f, -C and -q are as for 'write'.

 Example: 'writev 512 1k 1k'

)";

constexpr const char* kAsyncReadDetails = R"(
 Returns at once; 'aio_flush' waits. The result is told when it is there and does
 not count as a failure of this command. -P BYTE, -v, -C and -q are as for 'read';
 -i only says that an invalid request is injected.

 Example: 'aio_read -v 512 1k 1k'

)";

constexpr const char* kAsyncWriteDetails = R"(
 Returns at once; 'aio_flush' waits. The result is told when it is there and does
 not count as a failure of this command. -P BYTE, -f, -z, -u, -C and -q are as for
 'write'; -i only says that an invalid request is injected.

 Example: 'aio_write 512 1k 1k'

)";

constexpr const char* kDiscardDetails = R"(
 The content is undefined afterwards. -C and -q are as for 'write'.

 Example: 'discard 512 1k'

)";

constexpr const char* kOpenDetails = R"(
 -r       read-only
 -s       do not keep what is written
 -n       past the page cache: -t none
 -t MODE  cache mode: writeback, none, writethrough, directsync, unsafe
 -d MODE  discards: unmap or ignore
 -U       do not lock; read-only images only
 -k, -i MODE, -C  accepted, change nothing that can be seen
 -o OPTS  options of the drivers, such as driver=qcow2

 Example: 'open -n -o driver=raw /tmp/data'
)";

constexpr const char* kReopenDetails = R"(
 -r, -w   read-only, writable
 -c MODE  cache mode
 -o OPTS  options of the drivers, as for 'open'

 Example: 'reopen -r'

)";

constexpr const char* kSignalDetails = R"(
 Example: 'sigraise 15' raises SIGTERM

)";

constexpr std::array kCommands{
    Command{"abort", "", 0, 0, false, false, nullptr, "simulate a program crash using abort(3)", "",
            Abort},
    Command{"aio_flush", "", 0, 0, true, false, nullptr, "completes all outstanding aio requests",
            "", AsyncFlush},
    Command{"aio_read", "", 2, kAnyNumber, true, false, "[-Ciqv] [-P pattern] off len [len..]",
            "asynchronously reads a number of bytes", kAsyncReadDetails, AsyncRead},
    Command{"aio_write", "", 2, kAnyNumber, true, true, "[-Cfiquz] [-P pattern] off len [len..]",
            "asynchronously writes a number of bytes", kAsyncWriteDetails, AsyncWrite},
    Command{"alloc", "a", 1, 2, true, false, "offset [count]",
            "checks if offset is allocated in the file", "", Alloc},
    Command{"close", "c", 0, 0, true, false, nullptr, "close the current open file", "",
            CloseCommand},
    Command{"discard", "d", 2, kAnyNumber, true, true, "[-Cq] off len",
            "discards a number of bytes at a specified offset", kDiscardDetails, Discard},
    Command{"flush", "f", 0, 0, true, false, nullptr, "flush all in-core file state to disk", "",
            Flush},
    Command{"help", "?", 0, 1, false, false, "[command]", "help for one or all commands", "", Help},
    Command{"info", "i", 0, 0, true, false, nullptr, "prints information about the current file",
            "", Info},
    Command{"length", "l", 0, 0, true, false, nullptr, "gets the length of the current file", "",
            Length},
    Command{"map", "", 0, 0, true, false, "", "prints the allocated areas of a file", "", Map},
    Command{"open", "o", 1, kAnyNumber, false, false,
            "[-rsCnkU] [-t cache] [-d discard] [-o options] [path]",
            "open the file specified by path", kOpenDetails, OpenCommand},
    Command{"quit", "q", 0, kAnyNumber, false, false, nullptr, "exit the program", "", Quit},
    Command{"read", "r", 2, kAnyNumber, true, false,
            "[-abCqv] [-P pattern [-s off] [-l len]] off len",
            "reads a number of bytes at a specified offset", kReadDetails, Read},
    Command{"readv", "", 2, kAnyNumber, true, false, "[-Cqv] [-P pattern] off len [len..]",
            "reads a number of bytes at a specified offset", kReadVectorDetails, ReadVector},
    Command{"reopen", "", 0, kAnyNumber, true, false, "[(-r|-w)] [-c cache] [-o options]",
            "reopens an image with new options", kReopenDetails, Reopen},
    Command{"sigraise", "", 1, 1, false, false, "signal", "raises a signal", kSignalDetails,
            RaiseSignal},
    Command{"sleep", "", 1, 1, false, false, nullptr, "waits for the given value in milliseconds",
            "", Sleep},
    Command{"truncate", "t", 1, 3, true, true, "[-m prealloc_mode] off",
            "truncates the current file at the given offset", "", Truncate},
    Command{"write", "w", 2, kAnyNumber, true, true,
            "[-bcCfnquz] [-P pattern | -s source_file] off len",
            "writes a number of bytes at a specified offset", kWriteDetails, Write},
    Command{"writev", "", 2, kAnyNumber, true, true, "[-Cfq] [-P pattern] off len [len..]",
            "writes a number of bytes at a specified offset", kWriteVectorDetails, WriteVector},
};

}  // namespace

std::span<const Command> AllCommands() { return kCommands; }

}  // namespace skiff::io
