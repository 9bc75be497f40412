#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/mutex.h"
#include "devices/bus.h"
#include "devices/character_port.h"
#include "devices/irq.h"
#include "devices/legacy/serial_8250_registers.h"

namespace skiff {

// A 16550A (PC16550D data sheet) whose line has no speed: a byte written is sent at once, a byte
// of input is taken from the port when the receive FIFO has room, so nothing is ever overrun.
//
// Read() and Write() come from vCPU threads; input arrives on the port's thread. The interrupt
// line is high exactly while an enabled cause pends; on an edge-triggered input that is enough,
// since reading the IIR or emptying the FIFO lowers it first. The port and the line must outlive
// the device.
//
// Input waits in the port until the guest is ready for it: until it raises RTS or, if it never
// used RTS, enables the receive interrupt. So input typed or piped before the driver starts is
// not lost when the driver clears the FIFOs, and hardware flow control works.
class Serial8250 final : public BusDevice {
 public:
  Serial8250(IrqLine& irq, CharacterPort& port);
  ~Serial8250() override;

  std::string_view name() const override { return "serial"; }
  void Read(uint64_t offset, std::span<std::byte> data) override EXCLUDES(mutex_);
  void Write(uint64_t offset, std::span<const std::byte> data) override EXCLUDES(mutex_);

 private:
  class Fifo {
   public:
    bool empty() const { return size_ == 0; }
    size_t size() const { return size_; }
    void Clear() { size_ = 0; }
    void Push(uint8_t byte) { bytes_[(first_ + size_++) % kUartFifoBytes] = byte; }
    uint8_t Pop() {
      const uint8_t byte = bytes_[first_];
      first_ = (first_ + 1) % kUartFifoBytes;
      --size_;
      return byte;
    }

   private:
    std::array<uint8_t, kUartFifoBytes> bytes_{};
    size_t first_ = 0;
    size_t size_ = 0;
  };

  void OnPortReadable() EXCLUDES(mutex_);

  uint8_t ReadRegister(UartRegister which) REQUIRES(mutex_);
  uint8_t ReadReceiveBuffer() REQUIRES(mutex_);
  uint8_t ReadInterruptIdentification() REQUIRES(mutex_);
  uint8_t ReadLineStatus() REQUIRES(mutex_);
  uint8_t ReadModemStatus() REQUIRES(mutex_);

  // The byte that is now to be sent, if the write was one to the transmitter.
  std::optional<uint8_t> WriteRegister(UartRegister which, uint8_t value) REQUIRES(mutex_);
  std::optional<uint8_t> WriteTransmitHolding(uint8_t value) REQUIRES(mutex_);
  void WriteInterruptEnable(uint8_t value) REQUIRES(mutex_);
  void WriteFifoControl(uint8_t value) REQUIRES(mutex_);
  void WriteModemControl(uint8_t value) REQUIRES(mutex_);

  bool divisor_latch_access() const REQUIRES(mutex_) { return lcr_ & kLcrDivisorLatchAccess; }
  bool loopback() const REQUIRES(mutex_) { return mcr_ & kMcrLoop; }
  size_t ReceiveCapacity() const REQUIRES(mutex_);
  size_t TriggerLevel() const REQUIRES(mutex_);
  bool WantsInput() const REQUIRES(mutex_);
  uint8_t ModemLines() const REQUIRES(mutex_);
  uint8_t PendingCause() const REQUIRES(mutex_);
  void UpdateIrq() REQUIRES(mutex_);

  IrqLine& irq_;
  CharacterPort& port_;

  // Held while irq_ is driven, so that the line's level follows the state; never while a byte is
  // sent. Taken before the port's own locks.
  Mutex mutex_;
  Fifo receive_ GUARDED_BY(mutex_);
  uint8_t ier_ GUARDED_BY(mutex_) = 0;
  uint8_t fcr_ GUARDED_BY(mutex_) = 0;
  uint8_t lcr_ GUARDED_BY(mutex_) = 0;
  uint8_t mcr_ GUARDED_BY(mutex_) = 0;
  uint8_t scr_ GUARDED_BY(mutex_) = 0;
  std::array<uint8_t, 2> divisor_ GUARDED_BY(mutex_){};
  uint8_t modem_deltas_ GUARDED_BY(mutex_) = 0;
  bool overrun_ GUARDED_BY(mutex_) = false;  // only in loopback
  bool transmit_empty_pending_ GUARDED_BY(mutex_) = false;
  bool used_rts_ GUARDED_BY(mutex_) = false;
  bool irq_raised_ GUARDED_BY(mutex_) = false;
};

}  // namespace skiff
