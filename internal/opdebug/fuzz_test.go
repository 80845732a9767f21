package opdebug_test

import (
	"bytes"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
)

func FuzzParse(f *testing.F) {
	for _, name := range dumpNames(f) {
		f.Add(readPayload(f, name))
	}
	f.Add([]byte("ZZZZ"))
	f.Add(make([]byte, 1047))
	f.Add(words(1048, map[int]uint64{1040: 0x110, 48: 1}))
	f.Add(entry(140, [6]uint32{opdebug.Magic, 2, 0, 0, 1, 112}, seq(1, 14)...))
	f.Add(entry(512, [6]uint32{opdebug.Magic, 0, 1, 9, 0, 88}))
	f.Add(entry(512, [6]uint32{opdebug.Magic, 0, 1, 3, 0, 1<<32 - 1}, seq(1, 30)...))
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := opdebug.Parse(payload)
		if (r == nil) == (err == nil) {
			t.Fatalf("Parse = %v, %v", r, err)
		}
		if err != nil {
			return
		}
		if got := dumptest.EncodeRecord(r); !bytes.Equal(got, payload) {
			t.Fatalf("Encode = %x, want %x", got, payload)
		}
		back, err := opdebug.ParseJSON(r.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		same(t, back, r)
	})
}

func FuzzParseJSON(f *testing.F) {
	for _, name := range dumpNames(f) {
		f.Add(readExpected(f, name))
		payload := append(readPayload(f, name), make([]byte, 1536)...)
		f.Add(mindSporeJSON(f, payload))
	}
	f.Add([]byte(`{"magic":"0x5a5a5a5a","acc_list":{"acc_type":"AIC"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := opdebug.ParseJSON(data)
		if (r == nil) == (err == nil) {
			t.Fatalf("ParseJSON = %v, %v", r, err)
		}
		if err != nil {
			return
		}
		text := r.AppendJSON(nil)
		back, err := opdebug.ParseJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		same(t, back, r)
		sameBytes(t, back.AppendJSON(nil), text)
		dumptest.EncodeRecord(r)
	})
}
