package foreign

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

// zipped returns a zip archive with one file.
func zipped(t *testing.T, name string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	if err == nil {
		_, err = f.Write([]byte("content"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipped(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestIdentify has a file of every kind, made by the programs or from their specifications.
func TestIdentify(t *testing.T) {
	tar := make([]byte, 512)
	copy(tar, "file.txt")
	copy(tar[257:], "ustar\x0000")
	seen := map[string]bool{}
	for _, test := range []struct{ head, want string }{
		{"", "an empty file"},
		{zipped(t, "notes.txt"), "a ZIP archive"},
		{"PK\x05\x06" + strings.Repeat("\x00", 18), "a ZIP archive"},
		{"PK\x03\x04", "a ZIP archive"},
		{"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00}\x94.", "a Python pickle"},
		{"\x40\x00\x00\x00\x00\x00\x00\x00{\"w\":{\"dtype\":\"F32\"", "a safetensors file"},
		{gzipped(t), "a gzip archive"},
		{"BZh91AY&SY", "a bzip2 archive"},
		{"\xfd7zXZ\x00\x00\x04", "an xz archive"},
		{"\x28\xb5\x2f\xfd\x04\x00", "a zstd archive"},
		{"7z\xbc\xaf\x27\x1c\x00\x04", "a 7z archive"},
		{string(tar), "a tar archive"},
		{"SQLite format 3\x00\x10\x00", "an SQLite database"},
		{"\x7fELF\x02\x01\x01", "an ELF program or library"},
		{"IMOD\x00\x01\x00\x00", "an offline model (.om)"},
		{"\x89PNG\r\n\x1a\n\x00", "a picture"},
		{"%PDF-1.7\n", "a PDF document"},
		{"#IR entry      : @g.781\n#attrs         :\n", "a graph of MindSpore (IR)"},
		{"# IR entry: @g\n# Total subgraphs: 2\n", "a graph of MindSpore (IR)"},
		{"name: \"model\"\ngraph {\n  op {\n", "a graph as text (protobuf)"},
		{"graph{op{name:'a'}}", "a graph as text (protobuf)"},
		{"node {\n  name: \"x\"\n", "a model as text (protobuf)"},
		{"{\n  \"dump\": {\"dump_path\": \"/x\"}}", "a dump configuration (JSON)"},
		{"{\"common_dump_settings\": {", "a dump configuration (JSON)"},
		{"{\"task\": \"statistics\",", "a dump configuration (JSON)"},
		{"{\"task\": \"statistics\", \"dump_path\": \"/x\", \"statistics\": {\"scope\": []}}", "a dump configuration (JSON)"},
		{"{\n \"task\": \"tensor\",\n \"level\": \"L1\",\n \"dump_data_dir\": null,\n \"data\": {", "a list of calls by msprobe (dump.json)"},
		{"{\"name\":\"model\",\"graph\":[{\"op\":[", "a graph as JSON"},
		{"[1, 2]", "JSON"},
		{"\xef\xbb\xbf{\"a\": 1}", "JSON"},
		{"<?xml version=\"1.0\"?>", "markup (XML or HTML)"},
		{"These are notes.\r\n", "a text"},
		{"这是笔记", "a text"},
		{strings.Repeat("记", 200)[:HeadBytes], "a text"},
		{strings.Repeat("x", HeadBytes-1) + "\xe8", "a text"},
	} {
		k := Identify([]byte(test.head))
		if k == nil || k.Name.String() != test.want {
			t.Errorf("%.40q: %v, want %s", test.head, k, test.want)
			continue
		}
		seen[k.Name.String()] = true
	}
	for _, k := range kinds {
		if !seen[k.Name.String()] || k.Use.String() == "" || strings.HasSuffix(k.Use.String(), ".") || k.Name.Chinese() == "" || k.Use.Chinese() == "" {
			t.Errorf("%s has no test or no use", k.Name)
		}
	}
	for _, head := range []string{"\x00", "\x10\x00\x00\x00\x00\x00\x00\x00\x0a\x03", "abc\x00def", "\xff\xfe\xfd", "\x01\x02\x03{"} {
		if k := Identify([]byte(head)); k != nil {
			t.Errorf("%q is %v", head, k)
		}
	}
	if text := Identify(nil).String(); text != "an empty file: there is nothing to read" {
		t.Errorf("%s", text)
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add([]byte("PK\x03\x04"))
	f.Add([]byte("{\"a\""))
	f.Fuzz(func(t *testing.T, head []byte) {
		if k := Identify(head); k != nil && k.String() == "" {
			t.Error("a kind without a name")
		}
	})
}
