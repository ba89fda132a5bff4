"""What reads bytes from outside, given real messages and files that were damaged at random."""
