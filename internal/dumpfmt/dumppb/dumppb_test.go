package dumppb

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// deviceHeader is a header as a device wrote it: an Add operator with one
// float16 output of shape [2].
const deviceHeader = "0a03322e30" + "1083f7ef9f99c8f302" +
	"1a10" + "0802" + "1002" + "1a030a0102" + "3004" + "3a030a0102" +
	"320f" + "44656661756c742f4164642d6f7030"

func TestDeviceHeader(t *testing.T) {
	raw, err := hex.DecodeString(deviceHeader)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) != 49 {
		t.Fatalf("the header has %d bytes, want 49", len(raw))
	}
	got := new(DumpData)
	if err := proto.Unmarshal(raw, got); err != nil {
		t.Fatal(err)
	}
	want := &DumpData{
		Version:  "2.0",
		DumpTime: 1634155934514051,
		OpName:   "Default/Add-op0",
		Output: []*OpOutput{{
			DataType:      2, // float16
			Format:        2, // ND
			Shape:         &Shape{Dim: []uint64{2}},
			Size:          4,
			OriginalShape: &Shape{Dim: []uint64{2}},
		}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(raw, again); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
}

// TestNumberEncodings checks that element types and formats parse from writers
// that declare them as enum, int32 or uint32. The first two sign-extend
// numbers with bit 31 to ten bytes.
func TestNumberEncodings(t *testing.T) {
	for _, test := range []struct {
		name       string
		varint     uint64
		wantType   int32
		wantFormat uint32
	}{
		{"small", 3, 3, 3},
		{"unknown", 4711, 4711, 4711},
		{"packed word", 5<<24 | 3, 83886083, 83886083},
		{"bit 31, unsigned", 0x8500_0003, -0x7afffffd, 0x8500_0003},
		{"bit 31, sign-extended", 0xffff_ffff_8500_0003, -0x7afffffd, 0x8500_0003},
	} {
		t.Run(test.name, func(t *testing.T) {
			var tensor []byte
			tensor = protowire.AppendTag(tensor, 1, protowire.VarintType)
			tensor = protowire.AppendVarint(tensor, test.varint)
			tensor = protowire.AppendTag(tensor, 2, protowire.VarintType)
			tensor = protowire.AppendVarint(tensor, test.varint)
			out, in := new(OpOutput), new(OpInput)
			if err := proto.Unmarshal(tensor, out); err != nil {
				t.Fatal(err)
			}
			if err := proto.Unmarshal(tensor, in); err != nil {
				t.Fatal(err)
			}
			if out.DataType != test.wantType || in.DataType != test.wantType {
				t.Errorf("data type = %d and %d, want %d", out.DataType, in.DataType, test.wantType)
			}
			if out.Format != test.wantFormat || in.Format != test.wantFormat {
				t.Errorf("format = %#x and %#x, want %#x", out.Format, in.Format, test.wantFormat)
			}
		})
	}
}

// TestNameNotUTF8 checks that a name in another encoding does not cost the
// file, and is written back as it was.
func TestNameNotUTF8(t *testing.T) {
	const name = "Default/\xb2\xe2\xca\xd4-op1\xff"
	raw, err := proto.Marshal(&DumpData{OpName: name, Attr: []*OpAttr{{Name: name, Value: name}}})
	if err != nil {
		t.Fatal(err)
	}
	got := new(DumpData)
	if err := proto.Unmarshal(raw, got); err != nil {
		t.Fatal(err)
	}
	if got.OpName != name || got.Attr[0].Name != name || got.Attr[0].Value != name {
		t.Errorf("names = %q, %q, %q, want %q", got.OpName, got.Attr[0].Name, got.Attr[0].Value, name)
	}
}

// TestShapeEncodings checks that dimensions parse packed and one by one.
func TestShapeEncodings(t *testing.T) {
	packed := []byte{0x0a, 0x02, 0x02, 0x03}
	single := []byte{0x08, 0x02, 0x08, 0x03}
	for _, raw := range [][]byte{packed, single} {
		got := new(Shape)
		if err := proto.Unmarshal(raw, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]uint64{2, 3}, got.Dim); diff != "" {
			t.Errorf("% x (-want +got):\n%s", raw, diff)
		}
	}
}
