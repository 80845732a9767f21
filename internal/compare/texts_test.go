package compare

import (
	"strings"
	"sync"
	"testing"
)

// TestTexts: texts stay what they were, whatever is added behind them by whomever.
func TestTexts(t *testing.T) {
	var all texts
	var group sync.WaitGroup
	for _, letter := range "abcd" {
		group.Go(func() {
			var kept []string
			for n := range 3 * textRoom / 1000 {
				kept = append(kept, all.add(strings.Repeat(string(letter), n*29%(aloneText+100))))
			}
			for n, text := range kept {
				if want := strings.Repeat(string(letter), n*29%(aloneText+100)); text != want {
					t.Errorf("text %d of %c is of %d bytes, %.10q, want %d", n, letter, len(text), text, len(want))
				}
			}
		})
	}
	group.Wait()
	text := strings.Repeat("e", 100)
	if n := testing.AllocsPerRun(1000, func() { all.add(text) }); n != 0 {
		t.Errorf("a text takes %v allocations, want one of many texts", n)
	}
}
