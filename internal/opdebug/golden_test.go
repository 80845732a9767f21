package opdebug_test

import (
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/filename"
	"dumptool/internal/opdebug"
)

func TestGolden(t *testing.T) {
	for _, name := range dumpNames(t) {
		t.Run(name, func(t *testing.T) {
			if n := filename.Parse(name); !n.IsOpDebug() {
				t.Error("name is not recognised")
			}
			payload, want := readPayload(t, name), readExpected(t, name)
			r := mustParse(t, payload)
			if len(r.Warnings) > 0 {
				t.Errorf("warnings: %q", r.Warnings)
			}
			if !r.HasOverflow() {
				t.Error("no overflow found")
			}
			sameBytes(t, r.AppendJSON(nil), want)
			sameBytes(t, dumptest.EncodeRecord(r), payload)
			back, err := opdebug.ParseJSON(want)
			if err != nil {
				t.Fatal(err)
			}
			same(t, back, r)
		})
	}
}

func TestAppendJSONKeepsPrefix(t *testing.T) {
	name := dumpNames(t)[0]
	got := mustParse(t, readPayload(t, name)).AppendJSON([]byte("prefix "))
	sameBytes(t, got, append([]byte("prefix "), readExpected(t, name)...))
}

// The AIV sample of the public overflow data tools: 112 bytes, version 0.
func TestVectorAIV(t *testing.T) {
	payload := entry(0, [6]uint32{opdebug.Magic, 0, 1, 1, 0, 88},
		365, 396, 65, 66, 65535, 65535, 0x124040184000, 0x1240401ff5f0, 0, 15, 1)
	if len(payload) != 112 {
		t.Fatalf("payload has %d bytes", len(payload))
	}
	r := mustParse(t, payload)
	const want = `{
    "magic": "0x5a5a5a5a",
    "version": 0,
    "acc_list": {
        "valid": 1,
        "acc_type": "AIV",
        "rsv": 0,
        "data_len": 88,
        "data": {
            "model_id": 365,
            "stream_id": 396,
            "task_id": 65,
            "task_type": 66,
            "context_id": 65535,
            "thread_id": 65535,
            "pc_start": "0x124040184000",
            "para_base": "0x1240401ff5f0",
            "core_id": 0,
            "block_id": 15,
            "status": 1
        }
    }
}`
	sameBytes(t, r.AppendJSON(nil), []byte(want))
	if _, _, ok := r.Areas[0].Context(); ok {
		t.Error("65535 was taken for a context id")
	}
}

// The old layout sample of the pyACL documentation.
func TestVectorOld(t *testing.T) {
	r := mustParse(t, words(2048, map[int]uint64{
		256: 514, 264: 563, 272: 57, 288: 0x1008005b0000, 296: 0x100800297000,
		1024: 0x1008005ae000, 1032: 1, 1040: 32,
	}))
	want := readExpected(t, "Opdebug.Node_OpDebug.59.1624605159829507")
	sameBytes(t, r.AppendJSON(nil), want)
	hits := r.Overflows()
	if len(hits) != 1 || hits[0].Unit != opdebug.AICore || hits[0].TaskID != 57 || hits[0].Status[0] != 32 {
		t.Errorf("overflows: %+v", hits)
	}
}
