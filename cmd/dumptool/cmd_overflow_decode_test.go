package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

const (
	decodeName  = "Opdebug.Node_OpDebug.57.563.1732082705016774"
	decodeName2 = "Opdebug.Node_OpDebug.58.563.1732082705016775"
)

// decodeOld returns a payload of the old layout of this size, with the ids of the public sample and
// these status words of DHA, L2 and AI Core.
func decodeOld(size int, dha, l2, core uint64) []byte {
	b := make([]byte, max(size, opdebug.BufferSize))
	for off, v := range map[int]uint64{
		256: 514, 264: 563, 272: 57, 288: 0x1008005b0000, 296: 0x100800297000,
		1024: 0x1008005ae000, 1032: 1, 512: dha, 768: l2, 1040: core,
	} {
		binary.LittleEndian.PutUint64(b[off:], v)
	}
	return b[:size]
}

// decodeNew returns a payload of the new layout: the header words after the
// magic number, then the words of the entry, in 2048 bytes.
func decodeNew(version, valid, accType, dataLen uint32, data ...uint64) []byte {
	var b []byte
	for _, v := range []uint32{opdebug.Magic, version, valid, accType, 0, dataLen} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range data {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return append(b, make([]byte, max(0, opdebug.BufferSize-len(b)))...)
}

// decodeCore is an entry of AIC or AIV with these status words.
func decodeCore(version uint32, status ...uint64) []byte {
	data := append([]uint64{365, 396, 65, 66, 65535, 65535, 0x124040184000, 0x1240401ff5f0, 0, 15}, status...)
	return decodeNew(version, 1, 1, uint32(8*len(data)), data...)
}

// decodeDump returns a dump file with a payload as its outputs.
func decodeDump(t *testing.T, opName string, payloads ...[]byte) []byte {
	t.Helper()
	c := &dumptest.Content{Container: dumpfmt.BinaryV2, DumpTime: 1, OpName: opName}
	for _, p := range payloads {
		c.Outputs = append(c.Outputs, dumptest.TensorContent{
			Payload: dumptest.Bytes(p), StoredDType: int32(tensor.Uint8), StoredFormat: tensor.FormatWord(tensor.ND),
			Shape: []uint64{uint64(len(p))},
		})
	}
	var b bytes.Buffer
	if err := dumptest.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decodeTree writes files and returns their folder.
func decodeTree(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runDecode runs decode on files of dir, and removes the folder from the output.
func runDecode(t *testing.T, dir string, args ...string) result {
	t.Helper()
	full := []string{"overflow", "decode"}
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			arg = filepath.Join(dir, filepath.FromSlash(arg))
		}
		full = append(full, arg)
	}
	got := runArgs(t, full...)
	got.err = strings.ReplaceAll(got.err, dir+string(filepath.Separator), "")
	return got
}

// decoded is the tested part of the extended form.
type decoded struct {
	File         string
	OriginalName string `json:"original_name"`
	Timestamp    *uint64
	Time         *string
	Generation   string
	Valid        *bool
	Overflowed   *bool
	Record       json.RawMessage
	Rescued      json.RawMessage
	Areas        []struct {
		Unit      string
		IDs       map[string]string `json:"ids_hex"`
		StatusHex []string          `json:"status_hex"`
		Unknown   []string
		Causes    []struct {
			Mask, Name, Advice, Note string
			Word                     *int
		}
	}
	Warnings []string
	Header   map[string]any
	Error    string
}

// summary formats the main facts of a record on one line.
func (d *decoded) summary() string {
	if d.Error != "" {
		return "error"
	}
	text := d.Generation
	for _, a := range d.Areas {
		for i, hex := range a.StatusHex {
			if hex != "0x0" {
				text += fmt.Sprintf(" %s[%d]=%s", a.Unit, i, hex)
			}
		}
		for _, c := range a.Causes {
			text += " " + c.Name
		}
		for _, u := range a.Unknown {
			if u != "0x0" {
				text += " ?" + u
			}
		}
	}
	if d.Rescued != nil {
		text += " rescued"
	}
	switch {
	case !*d.Valid:
		text += " not valid"
	case d.Overflowed == nil:
		text += " maybe overflowed"
	case *d.Overflowed:
		text += " overflowed"
	}
	return text
}

// parseDecoded reads the stream of extended forms.
func parseDecoded(t *testing.T, stream string) []decoded {
	t.Helper()
	var all []decoded
	for dec := json.NewDecoder(strings.NewReader(stream)); ; {
		var d decoded
		if err := dec.Decode(&d); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, stream)
		}
		all = append(all, d)
	}
}

// TestDecodeRecords has a file for each condition under which older tools stop or print something
// wrong.
func TestDecodeRecords(t *testing.T) {
	t.Parallel()
	const op = "Node_OpDebug"
	whole := decodeDump(t, op, decodeOld(2048, 0, 0, 272))
	tests := map[string]struct {
		name    string
		data    []byte
		code    int
		summary string
		message string // part of stderr
	}{
		// The names of records.
		"usual name":    {decodeName, whole, 1, "old AI Core[0]=0x110 int_overflow fp16_conversion_overflow overflowed", "AI Core overflow: stream 563, task 57, status 0x110: integer"},
		"no stream id":  {"Opdebug.Node_OpDebug.59.1597922031178434", whole, 1, "old AI Core[0]=0x110 int_overflow fp16_conversion_overflow overflowed", ""},
		"documentation": {"OpDebug.Node_Opdebug.59.3.1597922031178434", decodeDump(t, "x", decodeOld(2048, 0, 0, 32)), 1, "old AI Core[0]=0x20 float_overflow overflowed", ""},
		"ffts":          {"Opdebug.Node_OpDebug.0.3.1673383728094391.4.1.0.0", whole, 1, "old AI Core[0]=0x110 int_overflow fp16_conversion_overflow overflowed", ""},
		"only header":   {"0123456789abcdef", whole, 1, "old AI Core[0]=0x110 int_overflow fp16_conversion_overflow overflowed", ""},
		"only content":  {"x", decodeDump(t, "x", decodeOld(2048, 0, 0, 8)), 1, "old AI Core[0]=0x8 neg_overflow overflowed", "neither the name nor the header"},

		// The old layout.
		"dha":         {decodeName, decodeDump(t, op, decodeOld(2048, 0x900, 0, 0)), 1, "old DHA Atomic Add[0]=0x900 overflow overflowed", ""},
		"l2":          {decodeName, decodeDump(t, op, decodeOld(2048, 0, 0x30000, 0)), 1, "old L2 Atomic Add[0]=0x30000 source_nan overflowed", ""},
		"unknown bit": {decodeName, decodeDump(t, op, decodeOld(2048, 0, 0, 0x22)), 1, "old AI Core[0]=0x22 float_overflow ?0x2 overflowed", "floating-point computation overflowed; 0x2 is not documented"},
		"status 0":    {decodeName, decodeDump(t, op, decodeOld(2048, 0, 0, 0)), 0, "old", "all status words are 0: no overflow recorded"},
		"all zero":    {decodeName, decodeDump(t, op, make([]byte, 2048)), 0, "old", "all fields are 0: no overflow recorded"},
		"1048 bytes":  {decodeName, decodeDump(t, op, decodeOld(1048, 0, 0, 32)), 1, "old AI Core[0]=0x20 float_overflow overflowed", "payload has 1048 bytes, wanted 2048"},
		"2047 bytes":  {decodeName, decodeDump(t, op, decodeOld(2047, 0, 0, 32)), 1, "old AI Core[0]=0x20 float_overflow overflowed", "payload has 2047 bytes, wanted 2048"},
		"2049 bytes":  {decodeName, decodeDump(t, op, decodeOld(2049, 0, 0, 32)), 1, "old AI Core[0]=0x20 float_overflow overflowed", "payload has 2049 bytes, wanted 2048"},
		"1047 bytes":  {decodeName, decodeDump(t, op, decodeOld(1047, 0, 0, 32)), 3, "error", "found 1047 bytes, wanted 2048 (at least 1048)"},

		// The new layout.
		"version 0":        {decodeName, decodeDump(t, op, decodeCore(0, 1)), 1, "new AIV[0]=0x1 ?0x1 overflowed", "AIV overflow: stream 396, task 65, status 0x1: 0x1 is not documented"},
		"112 bytes":        {decodeName, decodeDump(t, op, decodeCore(0, 32)[:112]), 1, "new AIV[0]=0x20 float_overflow overflowed", ""},
		"version 0 zero":   {decodeName, decodeDump(t, op, decodeCore(0, 0)), 0, "new", "all status words are 0"},
		"four zeros":       {decodeName, decodeDump(t, op, decodeCore(1, 0, 0, 0, 0)), 0, "new", "all status words are 0"},
		"fourth word":      {decodeName, decodeDump(t, op, decodeCore(1, 0, 0, 0, 32)), 1, "new AIV[3]=0x20 float_overflow overflowed", ""},
		"version 2":        {decodeName, decodeDump(t, op, decodeCore(2, 0, 0, 16, 0)), 1, "new AIV[2]=0x10 int_overflow overflowed", "version 2 is unknown, wanted 0 or 1"},
		"sdma":             {decodeName, decodeDump(t, op, decodeNew(0, 1, 3, 80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11)), 1, "new SDMA[0]=0xb reduce_overflow overflowed", ""},
		"aicpu":            {decodeName, decodeDump(t, op, decodeNew(0, 1, 2, 64, 1, 2, 3, 4, 5, 6, 7, 3)), 1, "new AICPU[0]=0x3 timeout overflowed", ""},
		"not valid":        {decodeName, decodeDump(t, op, decodeNew(0, 0, 0, 88, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 32)), 0, "new AIC[0]=0x20 float_overflow not valid", "valid is 0, wanted 1: the entry does not count as an overflow"},
		"acc_type":         {decodeName, decodeDump(t, op, decodeNew(1, 1, 7, 112, 1)), 3, "error", "acc_type 7 at 0xc, wanted 0 to 3 (header: version 1, valid 1, rsv 0, data_len 112)"},
		"data_len":         {decodeName, decodeDump(t, op, decodeNew(0, 1, 0, 96, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 32)), 1, "new AIC[0]=0x20 float_overflow overflowed", "data_len is 96, AIC of version 0 has 88"},
		"short new layout": {decodeName, decodeDump(t, op, decodeCore(0, 32)[:104]), 3, "error", "cut off at 0x68: found 104 bytes, wanted 112"},

		// Broken files.
		"no outputs":   {decodeName, decodeDump(t, op), 3, "error", "the overflow record has no output"},
		"empty output": {decodeName, decodeDump(t, op, nil), 3, "error", "found 0 bytes, wanted 2048"},
		"truncated":    {decodeName, whole[:1000], 3, "error", "exceeds"},
		"empty file":   {decodeName, nil, 3, "error", "not a dump file"},
		"no dump":      {"notes.txt", []byte("no record"), 3, "error", "not a dump file"},

		// Payloads as converted by other tools.
		"raw old":          {"payload.bin", decodeOld(2048, 0, 0, 32), 1, "old AI Core[0]=0x20 float_overflow overflowed", "read as the bare payload"},
		"raw new":          {"payload.bin", decodeCore(0, 32)[:112], 1, "new AIV[0]=0x20 float_overflow overflowed", "read as the bare payload"},
		"raw of any bytes": {"payload.bin", bytes.Repeat([]byte("no record, "), 200)[:2048], 3, "error", "not a dump file"},
		"npy":              {"OpDebug.Node_Opdebug.59.3.1597922031178434.output.0.npy", decodeNpy(decodeOld(2048, 0, 0, 32)), 1, "old AI Core[0]=0x20 float_overflow overflowed", "neither the name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := decodeTree(t, map[string][]byte{tt.name: tt.data})
			got := runDecode(t, dir, "--extended", tt.name)
			if got.code != tt.code {
				t.Errorf("exit status %d, want %d: %s", got.code, tt.code, got.err)
			}
			all := parseDecoded(t, got.out)
			if len(all) != 1 || all[0].summary() != tt.summary {
				t.Fatalf("got %s\nwant %s", got.out, tt.summary)
			}
			if all[0].File != filepath.Join(dir, tt.name) {
				t.Errorf("file %q", all[0].File)
			}
			wantContains(t, got.err, tt.message)
			if tt.code == exitOK && len(all[0].Warnings) == 0 {
				t.Error("no warning says why this is no overflow")
			}

			// The default form equals convert's output, or is empty.
			plain := runDecode(t, dir, tt.name)
			if plain.code != tt.code || (plain.out == "") != (tt.code == exitIncomplete) {
				t.Errorf("without --extended: %+v", plain)
			}
		})
	}
}

// decodeNpy returns a .npy file of bytes, as older converters make it of a record with an unknown
// name.
func decodeNpy(data []byte) []byte {
	header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", len(data))
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	return append(append(b, header...), data...)
}

// TestDecodeExtended checks the whole extended form once.
func TestDecodeExtended(t *testing.T) {
	t.Parallel()
	dir := decodeTree(t, map[string][]byte{decodeName: decodeDump(t, "Node_OpDebug", decodeCore(1, 0x100, 0, 0x20, 2))})
	got := runDecode(t, dir, "--extended", "--lang=zh", decodeName)
	out := strings.ReplaceAll(got.out, dir+string(filepath.Separator), "")
	const want = `{
    "file": "Opdebug.Node_OpDebug.57.563.1732082705016774",
    "output": 0,
    "timestamp": 1732082705016774,
    "time": "2024-11-20T06:05:05.016774Z",
    "generation": "new",
    "valid": true,
    "overflowed": true,
    "record": {
        "magic": "0x5a5a5a5a",
        "version": 1,
        "acc_list": {
            "valid": 1,
            "acc_type": "AIV",
            "rsv": 0,
            "data_len": 112,
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
                "status": [
                    256,
                    0,
                    32,
                    2
                ]
            }
        }
    },
    "areas": [
        {
            "unit": "AIV",
            "register": "aicore",
            "ids_hex": {
                "model_id": "0x16d",
                "stream_id": "0x18c",
                "task_id": "0x41",
                "task_type": "0x42",
                "context_id": "0xffff",
                "thread_id": "0xffff",
                "core_id": "0x0",
                "block_id": "0xf"
            },
            "status": [
                256,
                0,
                32,
                2
            ],
            "status_hex": [
                "0x100",
                "0x0",
                "0x20",
                "0x2"
            ],
            "causes": [
                {
                    "mask": "0x100",
                    "name": "fp16_conversion_overflow",
                    "en": "conversion from FP32 or INT32 to FP16 overflowed",
                    "zh": "FP32 转 FP16 或 32 位有符号整数转 FP16 溢出",
                    "advice": "look for a Cast to FP16, also one fused into another operator, and keep its input in FP32 or scale it down",
                    "word": 0,
                    "numeric": true
                },
                {
                    "mask": "0x20",
                    "name": "float_overflow",
                    "en": "floating-point computation overflowed",
                    "zh": "浮点计算有溢出",
                    "advice": "run the operator in FP32 (mixed precision black list, keep_dtype), lower the loss scale, and check constants and attributes; if FP32 would not overflow here, report it to the owner of the operator",
                    "word": 2,
                    "numeric": true,
                    "note": "status words after the first are not documented: the meaning may not apply"
                }
            ],
            "unknown": [
                "0x0",
                "0x0",
                "0x0",
                "0x2"
            ]
        }
    ],
    "warnings": []
}`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("extended form (-want +got):\n%s", diff)
	}
	wantContains(t, got.err, "状态 0x100：FP32 转 FP16")

	// An unknown unit leaves the header.
	dir = decodeTree(t, map[string][]byte{decodeName: decodeDump(t, "Node_OpDebug", decodeNew(0, 1, 7, 88))})
	got = runDecode(t, dir, "--extended", decodeName)
	if all := parseDecoded(t, got.out); len(all) != 1 || all[0].Header["acc_type"] != 7.0 || all[0].Header["magic"] != "0x5a5a5a5a" {
		t.Errorf("got %s", got.out)
	}
}

// TestDecodeFolder: one bad file does not stop the others, and other files are left alone.
func TestDecodeFolder(t *testing.T) {
	t.Parallel()
	const op = "Node_OpDebug"
	files := map[string][]byte{
		"0/" + decodeName:  decodeDump(t, op, decodeOld(2048, 0, 0, 32)),
		"1/" + decodeName:  decodeDump(t, op, decodeCore(0, 16)), // the same name, another record
		"1/" + decodeName2: decodeDump(t, op, decodeOld(2048, 0, 0, 0)),
		"2/Opdebug.Node_OpDebug.59.1597922031178434": decodeDump(t, op, decodeNew(0, 1, 9, 88)),
		"2/Opdebug.Node_OpDebug.1.2.173208270501677": decodeDump(t, op, decodeOld(100, 0, 0, 0)),
		"2/short": decodeDump(t, op, decodeOld(2048, 0, 0, 0))[:99],
		"3/abc":   decodeDump(t, "x", decodeOld(2048, 0, 0, 8)),
		"3/def":   decodeDump(t, "x", decodeOld(2048, 0, 0, 8)),                   // an operator that made 2048 bytes
		"3/ghi":   decodeDump(t, "x", decodeCore(0, 4)),                           // has the magic number
		"3/jkl":   decodeDump(t, op, decodeOld(2048, 0x900, 0, 0), []byte("bad")), // two outputs
		"3/" + "Add.Default_Add-op0.57.563.1732082705016000": decodeDump(t, "Default/Add-op0", make([]byte, 64)),
		"3/" + "Add.Default_Add-op1.57.563.1732082705016000": []byte("no dump"),
		"3/mapping.csv": []byte("abc,OpDebug.Node_Opdebug.60.563.1732082705016779\n"),
		"acl.json":      []byte(`{"dump": {}}`),
		"half.json":     []byte(`{`),
		"large.json":    bytes.Repeat([]byte(" "), 1<<20+1),
		"x.npy":         decodeNpy(make([]byte, 2048)),
		"x.bin":         decodeOld(2048, 0, 0, 32),
	}
	dir := decodeTree(t, files)
	got := runDecode(t, dir, "--extended", ".")
	var lines []string
	for _, d := range parseDecoded(t, got.out) {
		file, _ := filepath.Rel(dir, d.File)
		if d.OriginalName != "" {
			file += " (" + d.OriginalName + ")"
		}
		lines = append(lines, filepath.ToSlash(file)+": "+d.summary())
	}
	want := []string{
		"0/" + decodeName + ": old AI Core[0]=0x20 float_overflow overflowed",
		"1/" + decodeName + ": new AIV[0]=0x10 int_overflow overflowed",
		"1/" + decodeName2 + ": old",
		"2/Opdebug.Node_OpDebug.1.2.173208270501677: error",
		"2/Opdebug.Node_OpDebug.59.1597922031178434: error",
		"2/short: error",
		"3/abc (OpDebug.Node_Opdebug.60.563.1732082705016779): old AI Core[0]=0x8 neg_overflow overflowed",
		"3/ghi: new AIV[0]=0x4 ?0x4 overflowed",
		"3/jkl: old DHA Atomic Add[0]=0x900 overflow overflowed",
		"3/jkl: error",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if got.code != exitIncomplete {
		t.Errorf("exit status %d", got.code)
	}
	for _, part := range []string{
		"5 of 6 records report an overflow", "4 of 9 files could not be decoded completely", "ignored 8 files, no overflow record\n",
		"dumptool: 3/jkl: output 1: opdebug: old layout: payload cut off at 0x3: found 3 bytes, wanted 2048 (at least 1048)\n",
	} {
		wantContains(t, got.err, part)
	}
}

// TestDecodeOut checks the files in an output folder, possibly the folder of the dumps, over two
// runs.
func TestDecodeOut(t *testing.T) {
	t.Parallel()
	const op = "Node_OpDebug"
	old, entry := decodeOld(2048, 0, 0, 32), decodeCore(1, 0, 32, 0, 256)
	form := func(payload []byte) string {
		r, err := opdebug.Parse(payload)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.AppendJSON(nil))
	}
	dir := decodeTree(t, map[string][]byte{
		"d/0/" + decodeName:                    decodeDump(t, op, old),
		"d/1/" + decodeName:                    decodeDump(t, op, entry),
		"d/1/" + decodeName + "99":             decodeDump(t, op, old), // the time stamp of one begins that of the other
		"d/1/hash":                             decodeDump(t, op, old, entry),
		"d/1/mapping.csv":                      []byte("hash,../../../evil\n"),
		"d/1/" + decodeName + ".output.0.json": []byte(`{"stale": true}`),
	})
	want := map[string]string{
		"0/" + decodeName + ".output.0.json":   form(old),
		"1/" + decodeName + ".output.0.json":   form(entry),
		"1/" + decodeName + "99.output.0.json": form(old),
		"1/hash.output.0.json":                 form(old),
		"1/hash.output.1.json":                 form(entry),
	}
	read := func(out string) map[string]string {
		files := map[string]string{}
		for name := range want {
			data, err := os.ReadFile(filepath.Join(dir, out, filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(data)
		}
		return files
	}
	for range 2 {
		got := runDecode(t, dir, "-out="+filepath.Join(dir, "out"), "d")
		if got.code != exitFinding || got.out != "" {
			t.Fatalf("got %+v", got)
		}
		wantContains(t, got.err, "5 of 5 records report an overflow\ndumptool: 5 files written to out\n")
		if diff := cmp.Diff(want, read("out")); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
	for range 2 { // into the folder of the dumps
		got := runDecode(t, dir, "-out="+filepath.Join(dir, "d"), "d")
		wantContains(t, got.err, "5 of 5 records report an overflow\ndumptool: 5 files written to")
		if diff := cmp.Diff(want, read("d")); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
	// A folder inside another, from an earlier run.
	if got := runDecode(t, dir, "."); !strings.Contains(got.err, "5 of 5 records") || !strings.Contains(got.err, "ignored 10 JSON files whose records are listed too") {
		t.Errorf("got %s", got.err)
	}

	// Equal names conflict in one folder, and inputs stay unchanged.
	got := runDecode(t, dir, "-out="+filepath.Join(dir, "flat"), "d/0/"+decodeName, "d/1/"+decodeName)
	if got.code != exitIncomplete {
		t.Errorf("got %+v", got)
	}
	wantContains(t, got.err, "was already written from d/0/"+decodeName)
	got = runDecode(t, dir, "--extended", "-out="+filepath.Join(dir, "out", "0"), "out/0/"+decodeName+".output.0.json")
	if got.code != exitIncomplete {
		t.Errorf("got %+v", got)
	}
	wantContains(t, got.err, "is also an input")
	if diff := cmp.Diff(want, read("out")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// decodeMindSpore writes a payload as MindSpore does: always with the old
// layout, keys sorted, on one line.
func decodeMindSpore(t *testing.T, payload []byte) []byte {
	t.Helper()
	u64 := func(off int) uint64 { return binary.LittleEndian.Uint64(payload[off:]) }
	hex := func(off int) string { return fmt.Sprintf("0x%x", u64(off)) }
	area := func(info, status int) map[string]any {
		return map[string]any{
			"model_id": u64(info), "stream_id": u64(info + 8), "task_id": u64(info + 16),
			"task_type": u64(info + 24), "pc_start": hex(info + 32), "para_base": hex(info + 40), "status": u64(status),
		}
	}
	core := area(256, 1040)
	core["kernel_code"], core["block_idx"] = hex(1024), u64(1032)
	data, err := json.Marshal(map[string]any{"DHA Atomic Add": area(0, 512), "L2 Atomic Add": area(128, 768), "AI Core": core})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDecodeJSON reads records from JSON of every origin.
func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	const name = decodeName + ".output.0.json"
	old := decodeOld(2048, 0, 0, 32)
	record, err := opdebug.Parse(decodeCore(1, 0, 0, 0, 32))
	if err != nil {
		t.Fatal(err)
	}
	extended := func() []byte {
		dir := decodeTree(t, map[string][]byte{decodeName: decodeDump(t, "Node_OpDebug", old)})
		return []byte(runDecode(t, dir, "--extended", decodeName).out)
	}
	tests := map[string]struct {
		name    string
		data    []byte
		code    int
		summary string
		message string
	}{
		"our own":       {name, record.AppendJSON(nil), 1, "new AIV[3]=0x20 float_overflow overflowed", ""},
		"extended":      {name, extended(), 1, "old AI Core[0]=0x20 float_overflow overflowed", ""},
		"any name":      {"x", record.AppendJSON(nil), 1, "new AIV[3]=0x20 float_overflow overflowed", ""},
		"mindspore":     {name, decodeMindSpore(t, old), 1, "old AI Core[0]=0x20 float_overflow overflowed", ""},
		"misread":       {name, decodeMindSpore(t, decodeCore(0, 32)), 1, "new rescued maybe overflowed", "only unit, model, stream and task of the record remain"},
		"misread words": {name, decodeMindSpore(t, decodeCore(1, 32, 0, 0, 16)), 1, "new rescued overflowed", "written with the layout of older devices"},
		"misread, not valid": {
			name, decodeMindSpore(t, decodeNew(0, 0, 3, 80, 1, 2, 3)), 0, "new rescued not valid", "valid is 0, wanted 1",
		},
		"misread, unknown unit": {name, decodeMindSpore(t, decodeNew(0, 1, 4, 80, 1, 2, 3)), 3, "error", "acc_type 4"},
		"no record":             {"acl.json", []byte(`{"dump": {}}`), 3, "error", `found no such key, wanted "DHA Atomic Add"`},
		"cut off":               {name, record.AppendJSON(nil)[:99], 3, "error", "json at 0x63: unexpected end of JSON input"},
		"damaged":               {name, bytes.Replace(record.AppendJSON(nil), []byte("365"), []byte("-1"), 1), 3, "error", "acc_list.data.model_id at 0xc"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := decodeTree(t, map[string][]byte{tt.name: tt.data})
			for _, arg := range []string{tt.name, "."} {
				if arg == "." && (tt.name == "x" || tt.name == "acl.json") {
					continue // not taken for a record in a folder
				}
				got := runDecode(t, dir, "--extended", arg)
				if got.code != tt.code {
					t.Errorf("exit status %d, want %d: %s", got.code, tt.code, got.err)
				}
				if all := parseDecoded(t, got.out); len(all) != 1 || all[0].summary() != tt.summary {
					t.Errorf("got %s\nwant %s", got.out, tt.summary)
				}
				wantContains(t, got.err, tt.message)
			}
		})
	}
}

// TestDecodeRescued checks the JSON of the remains of a misread record.
func TestDecodeRescued(t *testing.T) {
	t.Parallel()
	dir := decodeTree(t, map[string][]byte{
		"a.json": decodeMindSpore(t, decodeCore(0, 32)),
		"b.json": decodeMindSpore(t, decodeCore(1, 32, 0, 0, 16)),
	})
	const head = `{
    "magic": "0x5a5a5a5a",
    "version": %d,
    "acc_list": {
        "valid": 1,
        "acc_type": "AIV",
        "rsv": 0,
        "data_len": %d,
        "data": {
            "model_id": 365,
            "stream_id": 396,
            "task_id": 65%s
        }
    }
}`
	a := fmt.Sprintf(head, 0, 88, "")
	b := fmt.Sprintf(head, 1, 112, `,
            "status": [
                null,
                null,
                null,
                16
            ]`)
	got := runDecode(t, dir, "a.json", "b.json")
	if diff := cmp.Diff(a+"\n"+b, got.out); diff != "" {
		t.Errorf("rescued (-want +got):\n%s", diff)
	}
	for i, d := range parseDecoded(t, runDecode(t, dir, "--extended", ".").out) {
		var left, want bytes.Buffer
		if err := json.Compact(&left, d.Rescued); err != nil {
			t.Fatal(err)
		}
		if err := json.Compact(&want, []byte([]string{a, b}[i])); err != nil {
			t.Fatal(err)
		}
		if left.String() != want.String() || string(d.Record) != "null" {
			t.Errorf("rescued %s, record %s", d.Rescued, d.Record)
		}
	}
}

// TestDecodeNothing: no record.
func TestDecodeNothing(t *testing.T) {
	t.Parallel()
	dir := decodeTree(t, map[string][]byte{
		"Add.x.57.563.1732082705016000": decodeDump(t, "net/x", make([]byte, 64)),
		"sub/notes.txt":                 []byte("no dump"),
		"sub/more.txt":                  []byte("no dump"),
		"x.npy":                         decodeNpy(make([]byte, 4)),
	})
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args string
		code int
		err  string
	}{
		"ordinary dump": {"Add.x.57.563.1732082705016000", 4, "dumptool: Add.x.57.563.1732082705016000: the dump of operator \"net/x\", no overflow record\n"},
		"array":         {"x.npy", 4, "dumptool: x.npy: an array, no overflow record\n"},
		"folder":        {"sub", 4, "dumptool: no overflow record found among 2 files\n"},
		"empty folder":  {"empty", 4, "dumptool: no file found\n"},
		"two files":     {"sub/notes.txt sub/more.txt", 4, "dumptool: no overflow record found among 2 files\n"},
		"no such file":  {"nowhere", 3, "no such file or folder: nowhere\n"},
		"one is gone":   {"nowhere sub", 3, "no such file or folder: nowhere\n"},
		"bad language":  {"--lang=de sub", 2, "invalid argument \"de\" for \"--lang\" flag: must be en or zh\n"},
		"no argument":   {"", 2, "dumptool: no file or folder given\nhint: see 'dumptool overflow decode --help'\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runDecode(t, dir, strings.Fields(tt.args)...)
			if got.code != tt.code || got.out != "" {
				t.Errorf("got %+v", got)
			}
			wantContains(t, got.err, tt.err)
		})
	}
}

func TestDecodeOnTerminal(t *testing.T) {
	t.Parallel()
	dir := decodeTree(t, map[string][]byte{decodeName: decodeDump(t, "Node_OpDebug", decodeOld(2048, 0, 0, 32))})
	a, get := testApp(t)
	a.streams.OutTTY = true
	got := get(a.run(t.Context(), []string{"overflow", "decode", filepath.Join(dir, decodeName)}))
	if !strings.HasSuffix(got.out, "}\n") {
		t.Errorf("the prompt stands behind %q", got.out[len(got.out)-9:])
	}
}
