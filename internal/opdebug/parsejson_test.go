package opdebug_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/opdebug"
)

func TestParseJSONMindSpore(t *testing.T) {
	for _, name := range dumpNames(t)[:3] {
		t.Run(name, func(t *testing.T) {
			payload := readPayload(t, name)
			text := mindSporeJSON(t, payload)
			if bytes.ContainsAny(text, "\n\t") || !bytes.HasPrefix(text, []byte(`{"AI Core":{"block_idx":1,"kernel_code":`)) {
				t.Fatalf("not as MindSpore writes: %s", text)
			}
			r, err := opdebug.ParseJSON(text)
			if err != nil {
				t.Fatal(err)
			}
			same(t, r, mustParse(t, payload))
			sameBytes(t, r.AppendJSON(nil), readExpected(t, name))
			sameBytes(t, dumptest.EncodeRecord(r), payload)
		})
	}
}

// edit returns a golden JSON file with one piece replaced.
func edit(t *testing.T, name, from, to string) []byte {
	t.Helper()
	data := readExpected(t, name)
	if !bytes.Contains(data, []byte(from)) {
		t.Fatalf("%s has no %q", name, from)
	}
	return bytes.Replace(data, []byte(from), []byte(to), 1)
}

const (
	goldenOld  = "Opdebug.Node_OpDebug.59.1624605159829507"
	goldenAIC  = "Opdebug.Node_OpDebug.70.5.1624605159829607"
	goldenSDMA = "Opdebug.Node_OpDebug.73.5.1624605159829610"
	goldenAIV1 = "Opdebug.Node_OpDebug.81.5.1624605159829618"
)

func TestParseJSONLenient(t *testing.T) {
	tests := []struct {
		name           string
		file, from, to string
		warning        string
	}{
		{"block_id of the documentation", goldenOld, `"block_idx"`, `"block_id"`, ""},
		{"hex in upper case", goldenOld, `0x1008005b0000`, `0x1008005B0000`, ""},
		{"number for hex", goldenAIC, `"0x1000"`, `4096`, ""},
		{"hex for number", goldenAIC, `65535`, `"0xffff"`, ""},
		{"acc_type number", goldenAIC, `"AIC"`, `0`, ""},
		{"unknown key", goldenOld, `"kernel_code"`, `"extra": {"a": []}, "kernel_code"`, `unknown keys "AI Core.extra"`},
		{"unknown top key", goldenAIC, `"version"`, `"note": null, "version"`, `unknown keys "note"`},
		{"status shape and data_len", goldenAIV1, `112`, `88`, "data_len is 88, AIV of version 1 has 112: read as 112 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := opdebug.ParseJSON(edit(t, tt.file, tt.from, tt.to))
			if err != nil {
				t.Fatal(err)
			}
			want := mustParse(t, readPayload(t, tt.file))
			if strings.Contains(tt.name, "data_len") {
				want.Header.DataLen = 88
			}
			same(t, r, want)
			if tt.warning == "" && len(r.Warnings) > 0 || tt.warning != "" && !strings.Contains(fmt.Sprint(r.Warnings), tt.warning) {
				t.Errorf("warnings %q, want %q", r.Warnings, tt.warning)
			}
		})
	}
}

// TestParseJSONExtended: the record is a member of the extended form; errors have their place in
// the whole file.
func TestParseJSONExtended(t *testing.T) {
	const head = `{"file": "a", "record": `
	for _, name := range []string{goldenOld, goldenAIC, goldenSDMA} {
		r, err := opdebug.ParseJSON(slices.Concat([]byte(head), readExpected(t, name), []byte("}")))
		if err != nil {
			t.Fatal(err)
		}
		same(t, r, mustParse(t, readPayload(t, name)))
	}
	_, err := opdebug.ParseJSON([]byte(head + `{"magic": 1}}`))
	if want := fmt.Sprintf("at 0x%x: found no such key", len(head)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if _, err := opdebug.ParseJSON([]byte(`{"record": null}`)); err == nil || !strings.Contains(err.Error(), "DHA Atomic Add") {
		t.Errorf("no record: %v", err)
	}
}

func TestParseJSONInvalidRecord(t *testing.T) {
	r, err := opdebug.ParseJSON(edit(t, goldenAIC, `"valid": 1`, `"valid": 0`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Valid() || r.HasOverflow() || len(r.Warnings) != 1 {
		t.Errorf("valid %v, overflowed %v, warnings %q", r.Valid(), r.HasOverflow(), r.Warnings)
	}
}

func TestParseJSONErrors(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "opdebug: json at 0x0: unexpected end of JSON input"},
		{"not json", text("ZZZZ"), "opdebug: json at 0x1: invalid character 'Z'"},
		{"array", text(" [1, 2]"), "opdebug: json: top level at 0x1: found [1, 2], wanted an object"},
		{"null", text("null"), "found null, wanted an object"},
		{"empty object", text("{}"), `top level at 0x0: found no such key, wanted "DHA Atomic Add"`},
		{"cut off", readExpected(t, goldenOld)[:100], "unexpected end of JSON input"},
		{"two values", slices.Concat(readExpected(t, goldenOld), text("{}")), "invalid character '{' after top-level value"},
		{"area is a number", text(`{"DHA Atomic Add": 1}`), "DHA Atomic Add at 0x13: found 1, wanted an object"},
		{"area without fields", text(`{"DHA Atomic Add": { }}`), `DHA Atomic Add at 0x13: found no such key, wanted "model_id"`},
		{"no L2", edit(t, goldenOld, "L2", "L3"), `wanted "L2 Atomic Add"`},
		{"negative", edit(t, goldenOld, `"model_id": 0`, `"model_id": -1`),
			`DHA Atomic Add.model_id at 0x2e: found -1, wanted a whole number of 64 bits or its "0x" string`},
		{"fraction", edit(t, goldenOld, `"model_id": 0`, `"model_id": 1.0`), "found 1.0, wanted a whole number"},
		{"65 bits", edit(t, goldenOld, `"model_id": 0`, `"model_id": 18446744073709551616`), "found 18446744073709551616"},
		{"text", edit(t, goldenOld, `"0x0"`, `"zero"`), `found "zero", wanted`},
		{"hex without digits", edit(t, goldenOld, `"0x0"`, `"0x"`), `found "0x", wanted`},
		{"null value", edit(t, goldenOld, `"0x0"`, `null`), "found null"},
		{"long text", edit(t, goldenOld, `"0x0"`, `"x`+strings.Repeat("é", 50)+`"`), "..., wanted"},
		{"second value", edit(t, goldenOld, `"stream_id"`, `"model_id"`), "found a second value, wanted one"},
		{"status list in old", edit(t, goldenOld, `"status": 0`, `"status": [0,0,0,0]`), "found [0,0,0,0], wanted a whole number"},
		{"magic", edit(t, goldenAIC, "0x5a5a5a5a", "0x5a5a5a5b"), `magic at 0xf: found "0x5a5a5a5b", wanted "0x5a5a5a5a"`},
		{"version too large", edit(t, goldenAIC, `"version": 0`, `"version": 4294967296`), "version at 0x2c: found 4294967296, wanted a whole number of 32 bits"},
		{"no acc_list", text(`{"magic": "0x5a5a5a5a", "version": 0}`), `wanted "acc_list"`},
		{"acc_list is a list", text(`{"magic": "0x5a5a5a5a", "acc_list": []}`), "acc_list at 0x24: found [], wanted an object"},
		{"acc_type name", edit(t, goldenAIC, `"AIC"`, `"AIX"`), `acc_list.acc_type at 0x69: found "AIX"`},
		{"acc_type number", edit(t, goldenAIC, `"AIC"`, `7`), "acc_type 7 at 0xc, wanted 0 to 3"},
		{"no data_len", edit(t, goldenAIC, `"data_len"`, `"len"`), `acc_list at 0x3f: found no such key, wanted "data_len"`},
		{"no data", edit(t, goldenAIC, `"data"`, `"dat"`), `wanted "data"`},
		{"no status", edit(t, goldenAIC, `"status"`, `"state"`), `acc_list.data at`},
		{"three status words", edit(t, goldenAIV1, "272,", ""), "wanted an array of 4 numbers"},
		{"text in status words", edit(t, goldenAIV1, "272,", `"x",`), `acc_list.data.status`},
		{"four status words for SDMA", edit(t, goldenSDMA, `"status": 8`, `"status": [8,0,0,0]`), "found [8,0,0,0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := opdebug.ParseJSON(tt.data)
			if r != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("ParseJSON = %v, %v, want %q", r, err, tt.want)
			}
			var j *opdebug.JSONError
			var acc *opdebug.AccTypeError
			if !errors.As(err, &j) && !errors.As(err, &acc) {
				t.Errorf("error of type %T", err)
			}
		})
	}
}

func TestJSONErrorUnwrap(t *testing.T) {
	_, err := opdebug.ParseJSON([]byte("{"))
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		t.Errorf("no syntax error in %v", err)
	}
}
