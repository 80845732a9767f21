package ui

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"dumptool/internal/lang"
)

// Columns measures text in columns of a terminal, in the same way everywhere.
var Columns = &runewidth.Condition{StrictEmojiNeutral: true}

// Wrap breaks text into lines of at most first columns and then rest columns
// each, at blanks and between Chinese characters; 0 or less breaks nothing. A
// word that is too long for a line is broken too.
func Wrap(text string, first, rest int) []string { return wrap(text, first, rest, false) }

// WrapWords is Wrap that leaves words whole: they can be copied, however long they are.
func WrapWords(text string, first, rest int) []string { return wrap(text, first, rest, true) }

func wrap(text string, first, rest int, whole bool) []string {
	if first <= 0 || Columns.StringWidth(text) <= first {
		return []string{text}
	}
	var lines []string
	line, used, width := "", 0, first
	end := func() {
		lines = append(lines, line)
		line, used, width = "", 0, max(1, rest)
	}
	head, command := cutCommand(text)
	all := pieces(head)
	if command != "" {
		all = append(all, piece{len(head) - len(strings.TrimRight(head, " ")), command, true})
	}
	for _, p := range all {
		size := Columns.StringWidth(p.text)
		if used > 0 && used+p.blanks+size > width {
			end()
		}
		if used > 0 {
			line += strings.Repeat(" ", p.blanks)
			used += p.blanks
		}
		for _, c := range p.text {
			if size := Columns.RuneWidth(c); !whole && !p.copied && used > 0 && used+size > width {
				end()
			}
			line += string(c)
			used += Columns.RuneWidth(c)
		}
	}
	end()
	return lines
}

// pasted finds a command at the end of a text, behind a colon.
var pasted = lang.Pattern(`[:：] ?(?:dumptool|mkdir|tar|unzip|7z|eval|--map-node-dict) .*$`)

// cutCommand cuts a text before the command at its end, which is copied whole and so is never
// broken.
func cutCommand(text string) (head, command string) {
	at := pasted().FindStringIndex(text)
	if at == nil {
		return text, ""
	}
	command = strings.TrimLeft(text[at[0]:], ":： ")
	return strings.TrimSuffix(text, command), command
}

// piece is a part of a text that stays on one line, and the blanks before it.
type piece struct {
	blanks int
	text   string
	// copied says that the part is never broken, however long it is.
	copied bool
}

// pieces takes a text apart: words, and single Chinese characters with the
// punctuation that must not be parted from them.
func pieces(text string) []piece {
	var all []piece
	blanks, glue := 0, false // glue: what follows belongs to the last piece
	var before rune
	for _, c := range text {
		if c == ' ' {
			blanks++
			glue = false
			continue
		}
		wide := isWide(c)
		together := blanks == 0 && len(all) > 0 && (glue || closes(c) || !wide && !isWide(before))
		if together {
			all[len(all)-1].text += string(c)
		} else {
			all = append(all, piece{blanks: blanks, text: string(c)})
		}
		blanks, before, glue = 0, c, opens(c)
	}
	return all
}

func isWide(c rune) bool { return Columns.RuneWidth(c) > 1 }

// opens and closes recognise punctuation that must not end or begin a line.
func opens(c rune) bool { return unicode.In(c, unicode.Ps, unicode.Pi) }
func closes(c rune) bool {
	return unicode.In(c, unicode.Pe, unicode.Pf) || strings.ContainsRune(",.;:!?，。；：！？、", c)
}
