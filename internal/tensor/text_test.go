package tensor

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAppendText compares with what numpy.savetxt wrote: testdata/gen.py.
func TestAppendText(t *testing.T) {
	data, err := os.ReadFile("testdata/text.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Host  string
		Hex   string
		Lines []string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	seen := map[Host]bool{}
	for _, c := range cases {
		i := slices.IndexFunc(Hosts(), func(h Host) bool { return h.String() == c.Host })
		if i < 0 {
			t.Fatalf("no host type %s", c.Host)
		}
		h := Hosts()[i]
		seen[h] = true
		src, err := hex.DecodeString(c.Hex)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(string(AppendText(nil, src, h)), "\n")
		if want := append(c.Lines, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", h, got, want)
		}
	}
	if len(seen) != len(Hosts()) {
		t.Errorf("the file has %d of %d host types", len(seen), len(Hosts()))
	}
}

// TestAppendTextLong has more elements than are converted at a time.
func TestAppendTextLong(t *testing.T) {
	for _, h := range Hosts() {
		src := randomBytes(300 * h.Size())
		want := []byte("kept ")
		for i := range 300 {
			want = AppendText(want, src[i*h.Size():(i+1)*h.Size()], h)
		}
		if got := AppendText([]byte("kept "), src, h); string(got) != string(want) {
			t.Errorf("%s: 300 elements at once differ from one at a time", h)
		}
	}
}
