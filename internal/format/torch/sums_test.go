package torch

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestSums: an entry with a wrong CRC-32 among valid ones is an error; if all are wrong or missing,
// the file is read with a warning.
func TestSums(t *testing.T) {
	const tensor = "}U\x01wctorch._utils\n_rebuild_tensor\n(" + sto + "I0\n(I4\nt(I1\nttRs."
	entries := []entry{{"a/data.pkl", tensor}, {"a/data/0", strings.Repeat("\x00\x00\x80?", 4)}, {"a/version", "3\n"}}
	// sums changes the CRC-32 of directory entries.
	sums := func(change func(name string, crc []byte)) []byte {
		b := zipOf(t, zip.Store, entries...)
		for at := bytes.Index(b, []byte("PK\x01\x02")); bytes.HasPrefix(b[at:], []byte("PK\x01\x02")); {
			name := b[at+46:][:b[at+28]]
			change(string(name), b[at+16:][:4])
			at += 46 + len(name)
		}
		return b
	}
	for _, test := range []struct {
		name                string
		file                []byte
		open, read, warning string
	}{
		{"good", sums(func(string, []byte) {}), "", "", ""},
		{"none", sums(func(_ string, crc []byte) { clear(crc) }), "", "", "the archive has no valid checksums: damaged data would not be noticed"},
		{"others", sums(func(_ string, crc []byte) { crc[1]++ }), "", "", "the archive has no valid checksums: damaged data would not be noticed"},
		{"none of storages", sums(func(name string, crc []byte) {
			if name == "a/data/0" {
				clear(crc)
			}
		}), "", "", "the archive has no valid checksums: damaged data would not be noticed"},
		{"pickle", sums(func(name string, crc []byte) {
			if name == "a/data.pkl" {
				crc[0]++
			}
		}), `the entry "a/data.pkl" has the CRC-32 `, "", ""},
		{"storage", sums(func(name string, crc []byte) {
			if name == "a/data/0" {
				crc[0]++
			}
		}), "", `the entry "a/data/0" has the CRC-32 `, ""},
	} {
		c, err := openBytes(test.file)
		if (err != nil) != (test.open != "") || err != nil && !strings.Contains(err.Error(), test.open) {
			t.Errorf("%s: %v, want %q", test.name, err, test.open)
		}
		if err != nil {
			continue
		}
		if got := fmt.Sprint(c.Warnings); got != "["+test.warning+"]" {
			t.Errorf("%s: warnings %s, want %q", test.name, got, test.warning)
		}
		n, err := c.Tensors[0].Data.ReadAt(make([]byte, 16), 0)
		if (err != nil) != (test.read != "") || err == nil && n != 16 || err != nil && !strings.Contains(err.Error(), test.read) {
			t.Errorf("%s: read %d bytes, %v, want %q", test.name, n, err, test.read)
		}
	}
}
