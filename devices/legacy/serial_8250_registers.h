#pragma once

#include <cstddef>
#include <cstdint>

namespace skiff {

// Names and bits: PC16550D data sheet, table II "Summary of Registers".

enum class UartRegister : uint8_t {
  kRbrThr = 0,  // receive buffer on read, transmit holding on write; divisor latch low if DLAB
  kIer = 1,     // interrupt enable; divisor latch high if DLAB
  kIirFcr = 2,  // interrupt identification on read, FIFO control on write
  kLcr = 3,     // line control
  kMcr = 4,     // modem control
  kLsr = 5,     // line status
  kMsr = 6,     // modem status
  kScr = 7,     // scratch
};
inline constexpr uint64_t kUartPorts = 8;
inline constexpr size_t kUartFifoBytes = 16;

inline constexpr uint8_t kIerReceivedData = 1 << 0;
inline constexpr uint8_t kIerTransmitEmpty = 1 << 1;
inline constexpr uint8_t kIerLineStatus = 1 << 2;
inline constexpr uint8_t kIerModemStatus = 1 << 3;
inline constexpr uint8_t kIerDefined = 0x0f;

// Table IV "Interrupt Control Functions", highest priority first.
inline constexpr uint8_t kIirLineStatus = 0x06;
inline constexpr uint8_t kIirReceivedData = 0x04;
inline constexpr uint8_t kIirCharacterTimeout = 0x0c;
inline constexpr uint8_t kIirTransmitEmpty = 0x02;
inline constexpr uint8_t kIirModemStatus = 0x00;
inline constexpr uint8_t kIirNonePending = 0x01;
inline constexpr uint8_t kIirFifosEnabled = 0xc0;

inline constexpr uint8_t kFcrEnable = 1 << 0;
inline constexpr uint8_t kFcrResetReceiver = 1 << 1;
inline constexpr unsigned kFcrTriggerShift = 6;

inline constexpr uint8_t kLcrDivisorLatchAccess = 1 << 7;  // DLAB

inline constexpr uint8_t kMcrDtr = 1 << 0;
inline constexpr uint8_t kMcrRts = 1 << 1;
inline constexpr uint8_t kMcrOut1 = 1 << 2;
inline constexpr uint8_t kMcrOut2 = 1 << 3;
inline constexpr uint8_t kMcrLoop = 1 << 4;
inline constexpr uint8_t kMcrDefined = 0x1f;

inline constexpr uint8_t kLsrDataReady = 1 << 0;
inline constexpr uint8_t kLsrOverrun = 1 << 1;
inline constexpr uint8_t kLsrTransmitHoldingEmpty = 1 << 5;
inline constexpr uint8_t kLsrTransmitterEmpty = 1 << 6;

// The lower half of the MSR tells which lines changed since it was last read.
inline constexpr unsigned kMsrDeltaShift = 4;
inline constexpr uint8_t kMsrTrailingEdgeRi = 1 << 2;
inline constexpr uint8_t kMsrCts = 1 << 4;
inline constexpr uint8_t kMsrDsr = 1 << 5;
inline constexpr uint8_t kMsrRi = 1 << 6;
inline constexpr uint8_t kMsrDcd = 1 << 7;

}  // namespace skiff
