package opdebug_test

import (
	"encoding/binary"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// newArea returns an area of zeros.
func newArea(unit opdebug.Unit, version uint32) opdebug.Area {
	words := 1
	if version == 1 && (unit == opdebug.AIC || unit == opdebug.AIV) {
		words = 4
	}
	return opdebug.Area{Unit: unit, Status: make([]uint64, words)}
}

// anyPayload draws a payload without oddities.
func anyPayload(t *rapid.T) []byte {
	unit := opdebug.Unit(rapid.IntRange(int(opdebug.AICore), int(opdebug.SDMA)).Draw(t, "unit"))
	areas, payload := []opdebug.Area{newArea(opdebug.DHA, 0), newArea(opdebug.L2, 0), newArea(opdebug.AICore, 0)}, make([]byte, opdebug.BufferSize)
	if unit != opdebug.AICore {
		h := validHeader(unit, uint32(rapid.IntRange(0, 1).Draw(t, "version")))
		size := rapid.IntRange(24+int(h.DataLen), opdebug.BufferSize).Draw(t, "size")
		payload = entry(size, [6]uint32{h.Magic, h.Version, h.Valid, h.AccType, h.Rsv, h.DataLen})
		areas = []opdebug.Area{newArea(unit, h.Version)}
	}
	for i := range areas {
		for _, f := range areas[i].Fields() {
			for j := range f.Values {
				binary.LittleEndian.PutUint64(payload[f.Offset+8*j:], rapid.Uint64().Draw(t, f.Name))
			}
		}
	}
	if unit == opdebug.AICore && binary.LittleEndian.Uint32(payload) == opdebug.Magic {
		payload[0]++
	}
	return payload
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := anyPayload(t)
		want, err := opdebug.Parse(payload)
		if err != nil || len(want.Warnings) > 0 || len(want.Undecoded) > 0 {
			t.Fatalf("%+v, %v", want, err)
		}
		if d := cmp.Diff(payload, dumptest.EncodeRecord(want)); d != "" {
			t.Fatalf("payload (-want +got):\n%s", d)
		}
		fromJSON, err := opdebug.ParseJSON(want.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		fromJSON.Size = want.Size
		if d := cmp.Diff(want, fromJSON); d != "" {
			t.Fatalf("json (-want +got):\n%s", d)
		}
	})
}

// Records built by hand in tests and generators.
func TestEncodeByHand(t *testing.T) {
	r := &opdebug.Record{
		Generation: opdebug.NewLayout,
		Header:     validHeader(opdebug.AIV, 1),
		Areas:      []opdebug.Area{{Unit: opdebug.AIV, TaskID: 57, Status: []uint64{0, 0, 32, 0}}},
	}
	payload := dumptest.EncodeRecord(r)
	if len(payload) != opdebug.BufferSize {
		t.Errorf("%d bytes, want %d", len(payload), opdebug.BufferSize)
	}
	same(t, mustParse(t, payload), r)

	r = &opdebug.Record{Generation: opdebug.OldLayout, Size: 1, Areas: []opdebug.Area{{Unit: opdebug.AICore, TaskID: 57}}}
	payload = dumptest.EncodeRecord(r)
	if len(payload) != 1048 {
		t.Errorf("%d bytes, want 1048", len(payload))
	}
	if got := mustParse(t, payload); got.Areas[2].TaskID != 57 || got.HasOverflow() {
		t.Errorf("areas %+v", got.Areas)
	}
}

// Parse rejects a header alone as truncated.
func TestEncodeWithoutAreas(t *testing.T) {
	r := &opdebug.Record{Generation: opdebug.NewLayout, Size: 4, Header: validHeader(opdebug.SDMA, 0)}
	sameBytes(t, dumptest.EncodeRecord(r), entry(0, [6]uint32{opdebug.Magic, 0, 1, 3, 0, 80}))
}
