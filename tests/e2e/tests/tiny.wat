;; The smallest module that shows what it was configured with: it takes configurations of up to 99 bytes, and writes
;; the last digit of that number into the response header x-size.
(module
  (import "env" "proxy_add_header_map_value"
    (func $add_header (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 16)
  (data (i32.const 0) "x-size")
  (data (i32.const 16) "?")
  (global $free (mut i32) (i32.const 1024))

  (func (export "_initialize"))
  (func (export "proxy_abi_version_0_2_1"))

  ;; Memory for what the host hands over; never given back.
  (func (export "proxy_on_memory_allocate") (param $size i32) (result i32)
    global.get $free
    (global.set $free (i32.add (global.get $free) (local.get $size))))

  (func (export "proxy_on_context_create") (param $context i32) (param $parent i32))

  (func (export "proxy_on_vm_start") (param $context i32) (param $size i32) (result i32)
    i32.const 1)

  (func (export "proxy_on_configure") (param $context i32) (param $size i32) (result i32)
    (i32.store8 (i32.const 16)
      (i32.add (i32.const 48) (i32.rem_u (local.get $size) (i32.const 10))))
    (i32.lt_u (local.get $size) (i32.const 100)))

  ;; 2 is the map of response headers; 0 says to go on.
  (func (export "proxy_on_response_headers") (param $context i32) (param $count i32) (param $end i32) (result i32)
    (drop (call $add_header (i32.const 2) (i32.const 0) (i32.const 6) (i32.const 16) (i32.const 1)))
    i32.const 0)
)
