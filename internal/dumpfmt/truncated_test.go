package dumpfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
)

// partsOf lists the tensors, buffers and spaces of a dump in the order of their
// bytes.
func partsOf(d *dumpfmt.Dump) []dumpfmt.Blob {
	var all []dumpfmt.Blob
	for i, t := range d.Inputs {
		all = append(all, dumpfmt.Blob{Size: t.Size, Data: t.Data, Err: d.InputDetails[i].Err})
	}
	for i, t := range d.Outputs {
		all = append(all, dumpfmt.Blob{Size: t.Size, Data: t.Data, Err: d.OutputDetails[i].Err})
	}
	return append(append(all, d.Buffers...), d.Spaces...)
}

// TestTruncated cuts dumps off at every place behind the header: what is there
// is read, and what is not has an error that names the offset, how many bytes
// were found there and how many it should be.
func TestTruncated(t *testing.T) {
	payloads := [][]byte{[]byte("abcd"), []byte("ef"), nil, []byte("ghi"), []byte("jk"), []byte("l")}
	tensors := func(from, to int) (all []dumptest.TensorContent) {
		for _, p := range payloads[from:to] {
			all = append(all, dumptest.TensorContent{Payload: dumptest.Bytes(p), StoredDType: 4, Shape: []uint64{uint64(len(p))}})
		}
		return all
	}
	kinds := []string{"input 0", "input 1", "output 0", "output 1", "buffer 0", "space 0"}
	for _, container := range []dumpfmt.Container{dumpfmt.BinaryV2, dumpfmt.TLV} {
		t.Run(container.String(), func(t *testing.T) {
			c := &dumptest.Content{Container: container, Inputs: tensors(0, 2), Outputs: tensors(2, 4)}
			parts := 4
			if container == dumpfmt.BinaryV2 {
				c.Buffers = []dumptest.BlobContent{{Payload: dumptest.Bytes(payloads[4])}}
				c.Spaces = []dumptest.BlobContent{{Payload: dumptest.Bytes(payloads[5])}}
				parts = 6
			}
			file := write(t, c)
			header := len(file) - len(bytes.Join(payloads[:parts], nil))
			for cut := header; cut <= len(file); cut++ {
				d := mustRead(t, file[:cut], dumpfmt.Options{})
				off := header
				for i, p := range partsOf(d) {
					want := payloads[i]
					if off+len(want) <= cut || len(want) == 0 {
						if got := data(t, p.Data); p.Err != nil || !bytes.Equal(got, want) {
							t.Errorf("cut at %#x: %s is %q, error %v, want %q", cut, kinds[i], got, p.Err, want)
						}
					} else {
						text := fmt.Sprintf("dumpfmt: %s data length %d at %#x exceeds the %d bytes that follow", kinds[i], len(want), off, max(0, cut-off))
						if p.Err == nil || p.Err.Error() != text {
							t.Errorf("cut at %#x: %s has error %v, want %s", cut, kinds[i], p.Err, text)
						}
					}
					off += len(want)
				}
			}
		})
	}
}

// TestTruncatedV1 cuts a version 1 dump off at every place: the tensors before
// are read, and the one that is not whole has an error. Behind it nothing is known.
func TestTruncatedV1(t *testing.T) {
	whole := pb{}.bytes(2, []byte("abcd"))
	file := version().bytes(3, pb{}.bytes(5, []byte("abcd"))).bytes(4, pb{}.bytes(4, []byte("ef"))).bytes(5, whole).bytes(8, whole)
	starts := []int{5, 13, 19, 27, len(file)} // of output, input, buffer and space
	errs := []string{"output 0", "input 0", "buffer 0", "space 0"}
	for cut := starts[0] + 1; cut <= len(file); cut++ {
		d := mustRead(t, file[:cut], dumpfmt.Options{})
		parts := [][]dumpfmt.Blob{nil, nil, d.Buffers, d.Spaces}
		all := partsOf(d)
		parts[1], parts[0] = all[:len(d.Inputs)], all[len(d.Inputs):][:len(d.Outputs)]
		for i, want := range [][]byte{[]byte("abcd"), []byte("ef"), []byte("abcd"), []byte("abcd")} {
			switch {
			case cut <= starts[i]:
				if len(parts[i]) != 0 {
					t.Errorf("cut at %#x: %s is there", cut, errs[i])
				}
			case len(parts[i]) != 1:
				t.Errorf("cut at %#x: %s is not there", cut, errs[i])
			case cut >= starts[i+1]:
				if got := data(t, parts[i][0].Data); parts[i][0].Err != nil || !bytes.Equal(got, want) {
					t.Errorf("cut at %#x: %s is %q, error %v", cut, errs[i], got, parts[i][0].Err)
				}
			default:
				text := fmt.Sprintf("dumpfmt: %s length %d at %#x exceeds the %d bytes that follow", errs[i], starts[i+1]-starts[i]-2, starts[i]+1, cut-starts[i]-2)
				if cut == starts[i]+1 {
					text = fmt.Sprintf("dumpfmt: %s length at %#x is cut off", errs[i], cut)
				}
				if err := parts[i][0].Err; err == nil || err.Error() != text {
					t.Errorf("cut at %#x: error %v, want %s", cut, err, text)
				}
			}
		}
	}
}

// TestTruncatedText cuts a version 1 dump off in the text behind its tensors,
// which costs no tensor.
func TestTruncatedText(t *testing.T) {
	file := version().bytes(3, pb{}.bytes(5, []byte("abcd"))).bytes(6, []byte("conv"))
	d := mustRead(t, file[:len(file)-1], dumpfmt.Options{})
	if got := data(t, d.Outputs[0].Data); d.OutputDetails[0].Err != nil || string(got) != "abcd" {
		t.Errorf("output is %q, error %v", got, d.OutputDetails[0].Err)
	}
	want := "the file is cut off: op_name length 4 at 0xe exceeds the 3 bytes that follow"
	if len(d.Warnings) != 1 || d.Warnings[0] != want {
		t.Errorf("warnings %q, want %q", d.Warnings, want)
	}
}

// TestAbsurdSizes are sizes that no file has: they are the errors of their
// tensors.
func TestAbsurdSizes(t *testing.T) {
	inputs := func(tail []byte, values ...any) []byte { return tlvFile(tlvRecord(tlvInputs, values...), tail) }
	tests := []struct {
		name string
		file []byte
		want []string // part of the error of each tensor, empty for none
	}{
		{"size of 2^64-1", v2File(version().bytes(3, output(1<<64-1)), make([]byte, 9)), []string{"output 0 data length 0xffffffffffffffff at 0x1c exceeds the 9 bytes"}},
		{"sum of sizes is 2^64", v2File(version().bytes(3, output(1<<63)).bytes(3, output(1<<63)), nil),
			[]string{"output 0 data length 0x8000000000000000 at 0x2b exceeds the 0", "output 1 data length 0x8000000000000000 at 0x7fffffffffffffff exceeds the 0"}},
		{"sum of sizes is 2^63", v2File(version().bytes(4, pb{}.varint(5, 4)).bytes(3, output(1<<63-4)), make([]byte, 9)),
			[]string{"", "output 0 data length 0x7ffffffffffffffc at 0x23 exceeds the 5 bytes"}},
		{"without version", v2File(pb{}.bytes(3, output(9)), make([]byte, 8)), []string{"output 0 data length 9 at 0xe exceeds the 8 bytes"}},
		{"TLV, sizes that overflow", inputs(nil, 2, tlvInput(1<<64-1), tlvInput(1)),
			[]string{"input 0 data length 0xffffffffffffffff at 0x6c exceeds the 0 bytes", "input 1 data length 1 at 0x7fffffffffffffff"}},
		{"TLV, sum that overflows", inputs([]byte{1}, 2, tlvInput(1), tlvInput(1<<64-1)), []string{"", "input 1 data length 0xffffffffffffffff at 0x6d exceeds the 0 bytes"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for i, p := range partsOf(mustRead(t, test.file, dumpfmt.Options{})) {
				var broken *dumpfmt.FormatError
				if want := test.want[i]; want == "" && p.Err != nil || want != "" && (!errors.As(p.Err, &broken) || !strings.Contains(p.Err.Error(), want)) {
					t.Errorf("part %d: error %v, want %q", i, p.Err, want)
				}
			}
		})
	}
}
