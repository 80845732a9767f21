package ui

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"dumptool/internal/lang"
)

// Columns measures text in terminal columns, independent of the environment.
var Columns = &runewidth.Condition{StrictEmojiNeutral: true}

// Wrap breaks text into lines of at most first columns and then rest columns each, at blanks and
// between Chinese characters; 0 or less disables wrapping. A word longer than a line is broken too.
func Wrap(text string, first, rest int) []string { return wrap(text, first, rest, false) }

// WrapWords is like Wrap but never breaks words, so that they can be copied.
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
	head, command := splitCommand(text)
	all := splitPieces(head)
	if command != "" {
		all = append(all, textPiece{len(head) - len(strings.TrimRight(head, " ")), command, true})
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
			if size := Columns.RuneWidth(c); !whole && !p.isUnbreakable && used > 0 && used+size > width {
				end()
			}
			line += string(c)
			used += Columns.RuneWidth(c)
		}
	}
	end()
	return lines
}

// commandAtEnd matches a command at the end of a text, behind a colon.
var commandAtEnd = lang.Pattern(`[:：] ?(?:dumptool|mkdir|tar|unzip|7z|eval|--map-node-dict) .*$`)

// splitCommand splits off the command at the end of a text. Users copy it, so it is never broken.
func splitCommand(text string) (head, command string) {
	at := commandAtEnd().FindStringIndex(text)
	if at == nil {
		return text, ""
	}
	command = strings.TrimLeft(text[at[0]:], ":： ")
	return strings.TrimSuffix(text, command), command
}

// textPiece is an unbreakable part of a text with the blanks before it.
type textPiece struct {
	blanks int
	text   string
	// isUnbreakable: never break the part, however long it is.
	isUnbreakable bool
}

// splitPieces splits a text into words, and single Chinese characters with the punctuation that must not
// be separated from them.
func splitPieces(text string) []textPiece {
	var all []textPiece
	blanks, glue := 0, false // glue: the next character belongs to the last piece
	var before rune
	for _, c := range text {
		if c == ' ' {
			blanks++
			glue = false
			continue
		}
		wide := isWide(c)
		together := blanks == 0 && len(all) > 0 && (glue || closesPunctuation(c) || !wide && !isWide(before))
		if together {
			all[len(all)-1].text += string(c)
		} else {
			all = append(all, textPiece{blanks: blanks, text: string(c)})
		}
		blanks, before, glue = 0, c, opensPunctuation(c)
	}
	return all
}

func isWide(c rune) bool { return Columns.RuneWidth(c) > 1 }

// opensPunctuation and closes report punctuation that must not end or begin a line.
func opensPunctuation(c rune) bool { return unicode.In(c, unicode.Ps, unicode.Pi) }
func closesPunctuation(c rune) bool {
	return unicode.In(c, unicode.Pe, unicode.Pf) || strings.ContainsRune(",.;:!?，。；：！？、", c)
}
