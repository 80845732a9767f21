package opdebug_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dumptool/internal/opdebug"

	"github.com/google/go-cmp/cmp"
)

// dumpNames lists the dump files of testdata.
func dumpNames(tb testing.TB) []string {
	tb.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", "dumps"))
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) != 11 {
		tb.Fatalf("found %d dumps, want 11", len(names))
	}
	return names
}

// readPayload returns what follows the header of a dump file.
func readPayload(tb testing.TB, name string) []byte {
	tb.Helper()
	data := readFile(tb, "dumps", name)
	return data[8+binary.LittleEndian.Uint64(data):]
}

// readExpected returns the JSON file that belongs to a dump.
func readExpected(tb testing.TB, name string) []byte {
	tb.Helper()
	return readFile(tb, "expect", name+".output.0.json")
}

func readFile(tb testing.TB, folder, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", folder, name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func mustParse(tb testing.TB, payload []byte) *opdebug.Record {
	tb.Helper()
	r, err := opdebug.Parse(payload)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// words writes 64-bit little-endian words at offsets into a buffer of this size, independently of
// the package's tables.
func words(size int, at map[int]uint64) []byte {
	b := make([]byte, size)
	for off, v := range at {
		binary.LittleEndian.PutUint64(b[off:], v)
	}
	return b
}

// entry returns a new layout payload: six header words, then 64-bit words,
// filled up with zeros to size.
func entry(size int, header [6]uint32, data ...uint64) []byte {
	var b []byte
	for _, v := range header {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range data {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	if len(b) < size {
		b = append(b, make([]byte, size-len(b))...)
	}
	return b
}

// seq returns the numbers from first to first+n-1.
func seq(first uint64, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = first + uint64(i)
	}
	return out
}

// mindSporeJSON writes a 2048-byte payload as MindSpore does: always with the
// old layout, keys sorted, on one line.
func mindSporeJSON(tb testing.TB, payload []byte) []byte {
	tb.Helper()
	u64 := func(off int) uint64 { return binary.LittleEndian.Uint64(payload[off:]) }
	hex := func(off int) string { return fmt.Sprintf("0x%x", u64(off)) }
	area := func(info, status int) map[string]any {
		return map[string]any{
			"model_id": u64(info), "stream_id": u64(info + 8), "task_id": u64(info + 16),
			"task_type": u64(info + 24), "pc_start": hex(info + 32), "para_base": hex(info + 40),
			"status": u64(status),
		}
	}
	core := area(256, 1040)
	core["kernel_code"], core["block_idx"] = hex(1024), u64(1032)
	data, err := json.Marshal(map[string]any{
		"DHA Atomic Add": area(0, 512), "L2 Atomic Add": area(128, 768), "AI Core": core,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// same compares the parts of records that JSON contains.
func same(tb testing.TB, got, want *opdebug.Record) {
	tb.Helper()
	g, w := *got, *want
	g.Size, w.Size = 0, 0
	g.Undecoded, w.Undecoded = nil, nil
	g.Warnings, w.Warnings = nil, nil
	if d := cmp.Diff(w, g); d != "" {
		tb.Errorf("record (-want +got):\n%s", d)
	}
}

func sameBytes(tb testing.TB, got, want []byte) {
	tb.Helper()
	if !bytes.Equal(got, want) {
		tb.Errorf("bytes (-want +got):\n%s", cmp.Diff(string(want), string(got)))
	}
}

// validHeader returns the header of a valid entry of AIC, AIV, AICPU or SDMA.
func validHeader(unit opdebug.Unit, version uint32) opdebug.Header {
	length := map[opdebug.Unit]uint32{opdebug.AIC: 88, opdebug.AIV: 88, opdebug.AICPU: 64, opdebug.SDMA: 80}[unit]
	if length == 88 && version == 1 {
		length += 24 // four status words
	}
	return opdebug.Header{Magic: opdebug.Magic, Version: version, Valid: 1, AccType: uint32(unit - opdebug.AIC), DataLen: length}
}
