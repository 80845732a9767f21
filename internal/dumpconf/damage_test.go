package dumpconf

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestDamage: damaged quotes or brackets give one finding, the values before it, and no repair.
func TestDamage(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"path over two lines", "{\"dump\":{\"dump_path\":\"/data/\ndump\",\n\"dump_list\":[{}]}}", []string{"ACL001 1:22"}},
		{"no opening quote", "{\"dump\":{\n\"dump_mode\":\"foo\",\ndump_op_switch\": \"on\",\n\"dump_path\":\"/d\",\"dmp\":1}}", []string{"ACL013 2:13", "ACL001 3:15"}},
		{"no closing quote of a name", listed(`{"layer":["a,"b"]}`), []string{"ACL001 1:50"}},
		{"truncated", "{\"dump\":{\"dump_mode\":\"foo\",\n\"dump_list\":[{}", []string{"ACL013 1:22", "ACL001 2:16"}},
		{"member in an array", "{\"dump\":{\"dump_list\":\n[\"model_name\":\"a\"]}}", []string{"ACL001 2:14"}},
		{"MindSpore", "{\"common_dump_settings\":{\"dump_mode\":0,\n\"path\":\"/d,\n\"net_name\":\"n\"}}", []string{"MS001 2:8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Check("", []byte(c.text), Options{})
			if got := lines(r); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
			fixed, _ := Repair("", []byte(c.text), Options{})
			if string(fixed) != c.text {
				t.Errorf("changed to\n%s", fixed)
			}
		})
	}
}

// TestDamagedSamples deletes and doubles single quotes, commas and brackets of real files: a repair
// gives JSON or leaves the file alone.
func TestDamagedSamples(t *testing.T) {
	for _, name := range sampleNames(t) {
		src := readSample(t, name)
		for i, b := range src {
			if len(src) > 2000 || !bytes.ContainsRune([]byte(`"'{}[],:`), rune(b)) {
				continue
			}
			without := slices.Concat(src[:i], src[i+1:])
			twice := slices.Concat(src[:i], src[i:i+1], src[i:])
			for _, damaged := range [][]byte{without, twice} {
				fixed, r := Repair("acl.json", damaged, Options{})
				if !bytes.Equal(fixed, damaged) && !r.Doc.Valid() {
					t.Fatalf("%s: changed to what is no JSON:\n%s", name, fixed)
				}
				if b == '"' && !bytes.Equal(fixed, damaged) {
					t.Fatalf("%s: a quote too few or too many, changed to\n%s", name, fixed)
				}
			}
		}
	}
}

func TestByteOrderMarkIsAWarning(t *testing.T) {
	for _, text := range []string{acl(`"dump_debug":"on"`), common()} {
		src := []byte("\ufeff" + text)
		r := Check("", src, Options{})
		if len(r.Findings) != 1 || r.Findings[0].Severity != Warning || r.Findings[0].Code != "" {
			t.Errorf("findings %+v, want one warning", r.Findings)
		}
		if fixed, _ := Repair("", src, Options{}); string(fixed) != text {
			t.Errorf("repaired to %q", fixed)
		}
	}
}

// TestManyItems reads a file with more than half a million values.
func TestManyItems(t *testing.T) {
	text := listed(strings.TrimSuffix(strings.Repeat(`{"layer":["a"]},`, 200_000), ","))
	if r := Check("", []byte(text), Options{}); len(r.Findings) != 0 {
		t.Errorf("found %v in a valid file", lines(r)[0])
	}
	text = acl(`"dump_debug":"on","x":[` + strings.Repeat("0,", 1<<20) + `0]`)
	r := Check("", []byte(text), Options{})
	for _, f := range r.Findings {
		if f.Severity == Error || f.Code != "" {
			t.Errorf("%s: %s %s for a file that is not read to its end", f.Rule, f.Code, f.Message)
		}
	}
	if len(r.Findings) == 0 {
		t.Error("nothing said about what is not read")
	}
}

// TestRepairOfUTF16: text in UTF-16 is repaired in one go, or not at all.
func TestRepairOfUTF16(t *testing.T) {
	for text, want := range map[string]string{
		`{"dump":{"dump_path":"/d","dump_debug":"on",}}`:  acl(`"dump_debug":"on"`),
		`{"dump":{"dump_path":"/d,"dump_debug":"on"}}`:    "",
		`{"dump":{"dump_path":"/d"; "dump_debug":"on"}} `: "",
	} {
		src := []byte("\xff\xfe")
		for _, b := range []byte(text) {
			src = append(src, b, 0)
		}
		if want == "" {
			want = string(src)
		}
		if fixed, _ := Repair("", src, Options{}); string(fixed) != want {
			t.Errorf("%s: repaired to %q", text, fixed)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, name := range sampleNames(f) {
		f.Add(readSample(f, name), uint8(0))
	}
	for i, c := range allCases() {
		if len(c.text) < 1000 {
			f.Add([]byte(strings.ReplaceAll(c.text, mark, "")), uint8(i))
		}
	}
	f.Add([]byte("\xff\xfe{\x00}\x00"), uint8(0))
	f.Add([]byte("{\x00\"\x00d\x00"), uint8(1))
	f.Fuzz(func(t *testing.T, src []byte, choice uint8) {
		opt := Options{Schema: Schema(choice % 6)}
		if choice&0x10 != 0 {
			opt.TargetVersion = Version{Major: 1 + int(choice>>5)}
			opt.SoC = "A2"
			opt.Devices = []uint64{1}
			opt.Container = true
			opt.Stat = stat(PathMissing)
			opt.Env = env("NPU_COLLECT_PATH=/x", "ASCEND_WORK_PATH=/w")
		}
		r := Check("acl.json", src, opt)
		lineCount := strings.Count(string(src), "\n") + 1
		for _, finding := range r.Findings {
			checkFinding(t, &finding, max(len(src), len(r.Doc.Source())), lineCount)
		}
		if len(src) > 4096 {
			return // more problems than a repair has rounds
		}
		fixed, after := Repair("acl.json", src, opt)
		if before, left := r.Count(Error), after.Count(Error); left > before {
			t.Fatalf("%d errors became %d in\n%s", before, left, fixed)
		}
		if json.Valid(src) && !json.Valid(fixed) {
			t.Fatalf("valid text repaired to\n%s", fixed)
		}
		again, _ := Repair("acl.json", fixed, opt)
		if string(again) != string(fixed) {
			t.Fatalf("repaired\n%s\nto\n%s", fixed, again)
		}
	})
}

func checkFinding(t *testing.T, f *Finding, size, lineCount int) {
	t.Helper()
	if f.Offset < 0 || f.Length < 0 || f.Offset+f.Length > size {
		t.Fatalf("%s is at %d, %d bytes, of %d", f.Rule, f.Offset, f.Length, size)
	}
	if f.Line < 1 || f.Line > lineCount || f.Column < 1 || f.Column > size+1 {
		t.Fatalf("%s is at %d:%d of %d lines", f.Rule, f.Line, f.Column, lineCount)
	}
	if s := f.Message.String(); s == "" || !utf8.ValidString(s) {
		t.Fatalf("%s: message %q", f.Rule, s)
	}
	for _, e := range f.Edits {
		if e.Offset < 0 || e.Length < 0 || e.End() > size {
			t.Fatalf("%s: edit %+v of %d bytes", f.Rule, e, size)
		}
	}
}
