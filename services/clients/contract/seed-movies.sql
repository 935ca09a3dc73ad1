-- SPDX-License-Identifier: Apache-2.0
-- The fifteen films of the published table with its costs, in millions of US dollars.
-- The order of the rows is the order of the answers.
insert into movie (title, year, cost, director) values
    ('Star Wars: The Force Awakens', 2015, 447.00, 'J J Abrams'),
    ('Jurassic World: Fallen Kingdom', 2018, 432.00, 'J A Bayona'),
    ('Star Wars: The Rise of Skywalker', 2019, 416.00, 'J J Abrams'),
    ('Fast X', 2023, 379.00, 'Louis Leterrier'),
    ('Pirates of the Caribbean: On Stranger Tides', 2011, 379.00, 'Rob Marshall'),
    ('Avengers: Age of Ultron', 2015, 365.00, 'Joss Whedon'),
    ('Avengers: Endgame', 2019, 356.00, 'Anthony Russo & Joe Russo'),
    ('Doctor Strange in the Multiverse of Madness', 2022, 351.00, 'Sam Raimi'),
    ('Avatar: The Way of Water', 2022, 350.00, 'James Cameron'),
    ('Indiana Jones and the Dial of Destiny', 2023, 326.00, 'James Mangold'),
    ('Avengers: Infinity War', 2018, 325.00, 'Anthony Russo & Joe Russo'),
    ('Pirates of the Caribbean: At World''s End', 2007, 300.00, 'Gore Verbinski'),
    ('Justice League', 2017, 300.00, 'Zack Snyder & Joss Whedon'),
    ('Star Wars: The Last Jedi', 2017, 300.00, 'Rian Johnson'),
    ('Mission: Impossible – Dead Reckoning Part One', 2023, 291.00, 'Christopher McQuarrie');
analyze movie;
