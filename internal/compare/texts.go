package compare

import (
	"strings"
	"sync"
)

// texts keeps short texts behind each other in long ones, so that a run of many small
// pairs has few objects and no unused bytes between them. The texts that share one are
// kept or given back together.
type texts struct {
	mu   sync.Mutex
	room strings.Builder
}

// textRoom is how many bytes of texts are kept together. One that takes a good part of
// them stands alone.
const (
	textRoom  = 64 << 10
	aloneText = textRoom / 16
)

// add returns a copy of the text, or a long text itself.
func (t *texts) add(text string) string {
	if text == "" || len(text) > aloneText {
		return text
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.room.Cap()-t.room.Len() < len(text) {
		t.room = strings.Builder{}
		t.room.Grow(textRoom)
	}
	at := t.room.Len()
	t.room.WriteString(text) // in place: what was added before stays where it is
	return t.room.String()[at:]
}
