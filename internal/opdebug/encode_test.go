package opdebug

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fillArea gives random values to the fields that an area has.
func fillArea(t *rapid.T, l *layout) Area {
	a := l.newArea()
	for i := range l.fields {
		for j := range l.fields[i].words {
			l.fields[i].set(&a, j, rapid.Uint64().Draw(t, l.fields[i].name))
		}
	}
	return a
}

// anyRecord draws a record without warnings.
func anyRecord(t *rapid.T) *Record {
	l := &layouts[rapid.IntRange(0, len(layouts)-1).Draw(t, "layout")]
	if l.unit < AIC {
		r := &Record{Generation: OldLayout, Size: BufferSize}
		for i := range oldLayouts() {
			r.Areas = append(r.Areas, fillArea(t, &layouts[i]))
		}
		if uint32(r.Areas[0].ModelID) == Magic {
			r.Areas[0].ModelID++
		}
		return r
	}
	h := validHeader(l.unit, uint32(rapid.IntRange(0, 1).Draw(t, "version")))
	size := rapid.IntRange(headerSize+int(h.DataLen), BufferSize).Draw(t, "size")
	return &Record{
		Generation: NewLayout, Header: h, Size: size,
		Areas: []Area{fillArea(t, versionLayout(l.unit, h.Version))},
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyRecord(t)
		payload := Encode(want)
		if len(payload) != want.Size {
			t.Fatalf("payload of %d bytes, want %d", len(payload), want.Size)
		}
		got, err := Parse(payload)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("payload (-want +got):\n%s", d)
		}
		fromJSON, err := ParseJSON(want.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		fromJSON.Size = want.Size
		if d := cmp.Diff(want, fromJSON); d != "" {
			t.Fatalf("json (-want +got):\n%s", d)
		}
	})
}

// Records that tests and generators put together by hand.
func TestEncodeByHand(t *testing.T) {
	r := &Record{
		Generation: NewLayout,
		Header:     validHeader(AIV, 1),
		Areas:      []Area{{Unit: AIV, TaskID: 57, Status: []uint64{0, 0, 32, 0}}},
	}
	payload := Encode(r)
	if len(payload) != BufferSize {
		t.Errorf("%d bytes, want %d", len(payload), BufferSize)
	}
	same(t, mustParse(t, payload), r)

	r = &Record{Generation: OldLayout, Size: 1, Areas: []Area{{Unit: AICore, TaskID: 57}}}
	payload = Encode(r)
	if len(payload) != 1048 {
		t.Errorf("%d bytes, want 1048", len(payload))
	}
	if got := mustParse(t, payload); got.Areas[2].TaskID != 57 || got.Overflowed() {
		t.Errorf("areas %+v", got.Areas)
	}
}

// A header alone is what Parse rejects as cut off.
func TestEncodeWithoutAreas(t *testing.T) {
	r := &Record{Generation: NewLayout, Size: 4, Header: validHeader(SDMA, 0)}
	sameBytes(t, Encode(r), entry(0, [6]uint32{Magic, 0, 1, 3, 0, 80}))
}
